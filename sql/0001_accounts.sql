-- The one clock of all SQL: Postgres's transaction time. The setting moves it in tests and for a test
-- subscription's own clock; it is never set otherwise.
create function service_now() returns timestamptz
language sql stable parallel safe
as $$
  select now() + coalesce(nullif(current_setting('service.clock_offset', true), '')::interval, interval '0')
$$;

-- A row is a seller who signed up: who pays for the service and whose volume is counted.
create table accounts (
  account_id text collate "C" primary key,
  email text not null,
  password_hash text not null,
  seller_name text,
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'SUSPENDED', 'BANNED')),
  plan text not null default 'FREE',
  open_amount_enabled boolean not null default false,
  email_verified_at timestamptz,
  created_at timestamptz not null default service_now()
);
create unique index accounts_email on accounts (lower(email));

-- A row is one seller's shop: what payments, keys, wallets and the webhook belong to.
create table stores (
  store_id text collate "C" primary key,
  account_id text collate "C" not null references accounts,
  name text not null,
  branding jsonb not null default '{}',
  reminder_days integer[] not null default '{7,3,1}',
  grace_days integer not null default 7 check (grace_days >= 0),
  top_up_until_expiry boolean not null default false,
  guess_on_shared_address boolean not null default true,
  webhook_url text,
  created_at timestamptz not null default service_now()
);
create index stores_account on stores (account_id, store_id);

-- A row is an API key. Only the hash of a secret is kept; a publishable key is kept in full, since it is public.
create table keys (
  key_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  kind text not null check (kind in ('SECRET', 'PUBLISHABLE')),
  key_hash bytea not null unique,
  publishable_key text check ((kind = 'PUBLISHABLE') = (publishable_key is not null)),
  masked_key text not null,
  created_at timestamptz not null default service_now(),
  revoked_at timestamptz
);
create index keys_store on keys (store_id, key_id);

-- A row is a login; the token itself is known to its holder alone.
create table login_sessions (
  token_hash bytea primary key,
  account_id text collate "C" not null references accounts,
  created_at timestamptz not null default service_now(),
  expires_at timestamptz not null
);
create index login_sessions_account on login_sessions (account_id);

-- A row is a link mailed to an account's owner, good for one use.
create table mailed_tokens (
  token_hash bytea primary key,
  account_id text collate "C" not null references accounts,
  purpose text not null check (purpose in ('VERIFY_EMAIL', 'RESET_PASSWORD')),
  created_at timestamptz not null default service_now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index mailed_tokens_account on mailed_tokens (account_id, purpose);

-- A row is a webhook signing secret of a store, encrypted. At most two sign at a time.
create table webhook_secrets (
  webhook_secret_id text collate "C" primary key,
  store_id text collate "C" not null references stores,
  ciphertext bytea not null,
  created_at timestamptz not null default service_now(),
  expires_at timestamptz
);
create index webhook_secrets_store on webhook_secrets (store_id, webhook_secret_id);

-- A row is a web host from which a store's live checkouts came, or one that its seller ruled on beforehand.
create table origins (
  store_id text collate "C" not null references stores,
  host text not null check (host = lower(host)),
  status text not null default 'PENDING' check (status in ('PENDING', 'APPROVED', 'REJECTED')),
  first_confirmed_at timestamptz,
  created_at timestamptz not null default service_now(),
  primary key (store_id, host)
);

-- A row is what one payment brought an account in a calendar month (UTC), in millionths of a US dollar. Inserted
-- once, never counted up: a counter in the status transaction would serialise an account's payments.
create table volume_entries (
  payment_id text collate "C" primary key,
  account_id text collate "C" not null references accounts,
  month date not null,
  amount_micros numeric(78, 0) not null check (amount_micros >= 0)
);
create index volume_entries_account on volume_entries (account_id, month) include (amount_micros);

-- A row counts one caller's requests in the window that began with the first of them. Unlogged: a crash forgets
-- at most a minute of counting, and counting costs no flush to disk.
create unlogged table rate_windows (
  rate_key text primary key,
  started_at timestamptz not null,
  request_count integer not null
);

-- Counts requests and says for each caller how many there were in the window, these included. Callers are named once,
-- in order, so that two of these statements never wait for each other in a circle.
create function count_requests(p_rate_keys text[], p_counts bigint[], p_window_seconds integer)
returns table (rate_key text, request_count integer, reset_seconds integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  c_request_count_max constant integer := 1000000000;
begin
  return query
  insert into rate_windows as w (rate_key, started_at, request_count)
  select k, service_now(), n from unnest(p_rate_keys, p_counts) as asked (k, n)
  on conflict (rate_key) do update set
    request_count = case
      when w.started_at <= excluded.started_at - make_interval(secs => p_window_seconds) then excluded.request_count
      else least(w.request_count + excluded.request_count, c_request_count_max)
    end,
    started_at = case
      when w.started_at <= excluded.started_at - make_interval(secs => p_window_seconds) then excluded.started_at
      else w.started_at
    end
  returning w.rate_key, w.request_count, greatest(1, ceil(extract(epoch from
    w.started_at + make_interval(secs => p_window_seconds) - service_now())))::integer;
end
$$;

-- Counts one request and says how many there were in the caller's window, this one included.
create function count_request(p_rate_key text, p_window_seconds integer,
  out request_count integer, out reset_seconds integer)
language sql
as $$
  select c.request_count, c.reset_seconds from count_requests(array[p_rate_key], array[1], p_window_seconds) c
$$;
