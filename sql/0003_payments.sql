-- A row is a chain as this service follows it: one network in one mode, named `<network>:<mode>`. It is the cursor,
-- the leader's lease and the health report at once. `audited` is how far blocks were read a second time.
create table deployments (
  deployment text primary key,
  epoch bigint not null default 0,
  leader text,
  lease_until timestamptz,
  block_number bigint,
  block_hash text,
  block_time timestamptz,
  audited_number bigint,
  audited_time timestamptz,
  head_number bigint,
  head_time timestamptz,
  head_seen_at timestamptz,
  halted_reason text,
  confirmations integer not null check (confirmations >= 1),
  created_at timestamptz not null default service_now()
);

-- A row is a block the cursor stands on or stood on lately: what a reorganisation is walked back along.
create table blocks (
  deployment text not null references deployments,
  block_number bigint not null,
  block_hash text not null,
  parent_hash text not null,
  block_time timestamptz not null,
  primary key (deployment, block_number)
);

-- A row is one amount asked of one buyer at one address: the payment of the specification. Few indexes, so that a
-- status change stays a heap-only update; what must be found by time or address is found through slots.
create table payments (
  payment_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  account_id text collate "C" not null,
  mode text not null check (mode in ('test', 'live')),
  network text not null,
  token text not null,
  deployment text not null,
  contract text not null,
  decimals integer not null check (decimals between 2 and 36),
  address text not null,
  is_exclusive boolean not null,
  -- Whose time closes the window: the chain's, or ours where no chain is followed. Never changes.
  clock text not null check (clock in ('CHAIN', 'OURS')),
  confirmations_required integer not null check (confirmations_required >= 1),
  amount_cents bigint not null check (amount_cents >= 1),
  -- The price without the tail, and what is due with it.
  price_base_units numeric(78, 0) not null check (price_base_units > 0),
  amount_base_units numeric(78, 0) not null check (amount_base_units >= price_base_units),
  status text not null default 'PENDING' check (status in
    ('PENDING', 'DETECTED', 'CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED', 'CANCELED')),
  -- What is attributed to the payment so far, at depth or not.
  received_base_units numeric(78, 0) not null default 0 check (received_base_units >= 0),
  tx_hash text,
  block_number bigint,
  -- The deployment's position when the slot was claimed: blocks up to there are older than the payment.
  position_block bigint,
  is_simulated boolean not null default false,
  price_id text collate "C",
  payment_link_id text collate "C",
  session_id text collate "C",
  subscription_id text collate "C",
  reference_key text,
  metadata jsonb,
  origin_host text,
  buyer_email text,
  created_at timestamptz not null default service_now(),
  expires_at timestamptz not null,
  detected_at timestamptz,
  settled_at timestamptz,
  check ((status in ('PENDING', 'DETECTED')) = (settled_at is null)),
  check (not is_simulated or mode = 'test')
) with (fillfactor = 85);
create index payments_store on payments (store_id, payment_id);
create index payments_session on payments (session_id) where session_id is not null;
create index payments_subscription on payments (subscription_id) where subscription_id is not null;
create index payments_reference on payments (reference_key) where reference_key is not null;

-- A row is an exact amount held at an address by one payment. It exists only while held: from the claim until the
-- quarantine after the payment's end is over. The key is the promise that no two payments wait for the same transfer.
create table slots (
  address text not null,
  amount_base_units numeric(78, 0) not null,
  token text not null,
  deployment text not null,
  payment_id text collate "C" not null,
  store_id text collate "C" not null,
  price_base_units numeric(78, 0) not null,
  is_exclusive boolean not null,
  is_open boolean not null default true,
  client_ip text,
  expires_at timestamptz not null,
  ended_at timestamptz,
  release_at timestamptz,
  -- Who held the slot before, when it was reused within that holder's quarantine.
  previous_payment_id text collate "C",
  previous_ended_at timestamptz,
  primary key (address, amount_base_units, token, deployment),
  check (is_open = (ended_at is null)),
  check (is_open = (release_at is null))
);
create unique index slots_payment on slots (payment_id);
create index slots_window on slots (expires_at) where is_open;
create index slots_release on slots (release_at) where not is_open;
create index slots_client on slots (address, client_ip) where is_open and client_ip is not null;

-- A row is a transfer to a seller's address that a chain reported, on the branch it was reported on. A fact: it is
-- never deleted, and which payment it belongs to never changes but by a seller's hand.
create table transfers (
  transfer_id text collate "C" primary key,
  deployment text not null,
  network text not null,
  mode text not null check (mode in ('test', 'live')),
  block_hash text not null,
  tx_hash text not null,
  log_index integer not null,
  block_number bigint not null,
  block_time timestamptz not null,
  token text not null,
  contract text not null,
  decimals integer not null,
  sender text not null,
  address text not null,
  amount_base_units numeric(78, 0) not null check (amount_base_units > 0),
  state text not null check (state in ('MATCHED', 'UNMATCHED', 'RETRACTED')),
  payment_id text collate "C" references payments,
  -- The rule that took or refused it, in one word; candidates are ranked, best first.
  rule text not null,
  reason text check (reason in
    ('LATE', 'AMBIGUOUS', 'NO_SLOT', 'DUST', 'WRONG_NETWORK', 'WRONG_TOKEN')),
  candidates jsonb not null default '[]',
  -- Whether it has reached the confirmation depth and counted.
  is_final boolean not null default false,
  is_held boolean not null default false,
  seen_at timestamptz not null default service_now(),
  unique (deployment, block_hash, tx_hash, log_index),
  check ((state = 'UNMATCHED') = (reason is not null) or state = 'RETRACTED'),
  check (state <> 'MATCHED' or payment_id is not null),
  check (state <> 'UNMATCHED' or payment_id is null)
);
create index transfers_payment on transfers (payment_id) where payment_id is not null;
create index transfers_pending on transfers (deployment, block_number)
  where state = 'MATCHED' and not is_final;
create index transfers_block on transfers (deployment, block_number);

-- A row lists a transfer in a store's inbox: in the store of the payment it is attributed to, or, belonging to
-- nobody, in each store that has the address. Transfer and store are no foreign keys: rows are only ever written by the
-- statement that stores the transfer, or has just found it, for stores read in the same transaction, and neither is ever
-- deleted; checking it again for each row took as long as writing it.
create table inbox (
  store_id text collate "C" not null,
  transfer_id text collate "C" not null,
  state text not null check (state in ('MATCHED', 'UNMATCHED', 'RESOLVED')),
  note text,
  resolved_at timestamptz,
  -- The transfer first: its place in the inboxes is looked up whenever one comes back, or belongs to nobody.
  primary key (transfer_id, store_id)
);

-- A row is one change of a payment's status: what the trace tells. Written by the statement that changes it, under the
-- payment's lock, so that a foreign key would only ask the same once more.
create table payment_moves (
  payment_id text collate "C" not null,
  move_key text collate "C" not null,
  from_status text not null,
  to_status text not null,
  trigger text not null,
  at timestamptz not null default service_now(),
  primary key (payment_id, move_key)
);

-- A row is something one process asks of another that owns the chain or the mail: done once, then closed.
create table requests (
  request_id text collate "C" primary key,
  kind text not null,
  subject text not null,
  body jsonb,
  created_at timestamptz not null default service_now(),
  done_at timestamptz,
  result jsonb
);
create unique index requests_open on requests (kind, subject) where done_at is null;
