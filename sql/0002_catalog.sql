-- A row is a receiving wallet of a store on one network: a fixed address, or an extended public key whose children
-- are handed out one per payment. A removed wallet takes no new slots.
create table wallets (
  wallet_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  network text not null,
  address text,
  xpub text,
  created_at timestamptz not null default service_now(),
  removed_at timestamptz,
  check ((address is null) <> (xpub is null))
);
create unique index wallets_unique on wallets (store_id, mode, network, coalesce(address, xpub))
  where removed_at is null;
create index wallets_address on wallets (address) where address is not null;

-- A row is an extended public key, whichever stores use it, and how far its children have been derived.
create table xpubs (
  xpub text primary key,
  derived_count integer not null default 0,
  created_at timestamptz not null default service_now()
);

-- A row is a derived child address. Handed out lowest first; one that never received anything comes back after
-- quarantine, one that did never does.
create table xpub_addresses (
  xpub text not null references xpubs,
  address_index integer not null,
  address text not null unique,
  free_at timestamptz not null default '-infinity',
  received_at timestamptz,
  -- Whose it is, or was last.
  payment_id text collate "C",
  primary key (xpub, address_index)
);
create index xpub_addresses_free on xpub_addresses (xpub, address_index)
  where received_at is null and free_at < 'infinity';

-- A row is a thing sold.
create table products (
  product_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  name text not null,
  description text,
  image_url text,
  metadata jsonb,
  active boolean not null default true,
  created_at timestamptz not null default service_now()
);
create index products_store on products (store_id, product_id);

-- A row is an amount asked for a product, once or every interval. The amount never changes.
create table prices (
  price_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  product_id text collate "C" not null references products,
  amount_cents bigint not null check (amount_cents between 1 and 100000000),
  interval text check (interval in ('DAY', 'WEEK', 'MONTH', 'YEAR')),
  interval_count integer not null default 1 check (interval_count >= 1),
  networks text[],
  tokens text[],
  active boolean not null default true,
  -- The product's own flag, so that a checkout need not read the product: nothing of an archived one is sold.
  product_active boolean not null default true,
  is_sold boolean not null generated always as (active and product_active) stored,
  created_at timestamptz not null default service_now()
);
create index prices_product on prices (product_id);
create index prices_store on prices (store_id, price_id);

-- A row is a reusable link to a hosted page that sells one price.
create table payment_links (
  payment_link_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  price_id text collate "C" not null references prices,
  metadata jsonb,
  active boolean not null default true,
  created_at timestamptz not null default service_now()
);
create index payment_links_store on payment_links (store_id, payment_link_id);

-- A row is one buyer's checkout, opened by the seller's server. Expiry is read from expires_at, not written.
create table checkout_sessions (
  session_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  price_id text collate "C" references prices,
  amount_cents bigint check (amount_cents between 1 and 100000000),
  status text not null default 'OPEN' check (status in ('OPEN', 'COMPLETED', 'CLOSED')),
  payment_id text collate "C",
  metadata jsonb,
  buyer_email text,
  success_url text,
  cancel_url text,
  created_at timestamptz not null default service_now(),
  expires_at timestamptz not null,
  check ((price_id is null) <> (amount_cents is null))
);
create index checkout_sessions_store on checkout_sessions (store_id, session_id);

-- A row is a buyer's recurring purchase. Its logic lives in shared/subscriptions.
create table subscriptions (
  subscription_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  account_id text collate "C" not null references accounts,
  mode text not null check (mode in ('test', 'live')),
  price_id text collate "C" not null references prices,
  status text not null default 'PENDING'
    check (status in ('PENDING', 'ACTIVE', 'PAST_DUE', 'EXPIRED', 'CANCELED')),
  network text not null,
  token text not null,
  amount_cents bigint not null check (amount_cents >= 1),
  interval text not null check (interval in ('DAY', 'WEEK', 'MONTH', 'YEAR')),
  interval_count integer not null check (interval_count >= 1),
  buyer_email text,
  metadata jsonb,
  origin_host text,
  renew_token_hash bytea not null unique,
  renew_token_ciphertext bytea not null,
  anchor_at timestamptz,
  period_count integer not null default 0,
  next_due_at timestamptz,
  next_action_at timestamptz,
  clock_offset interval not null default '0',
  created_at timestamptz not null default service_now(),
  ended_at timestamptz
);
create index subscriptions_store on subscriptions (store_id, subscription_id);
create index subscriptions_due on subscriptions (next_action_at) where next_action_at is not null;
