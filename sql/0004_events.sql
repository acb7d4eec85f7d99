-- A row is a fact the seller is told, with the exact bytes of its body: the outbox. Written in the transaction of
-- the change it tells; its id makes "confirmed once" a constraint. The relay gives it its sequence.
create table events (
  event_id text collate "C" primary key,
  order_key text collate "C" not null,
  store_id text collate "C" not null references stores,
  account_id text collate "C" not null,
  mode text not null check (mode in ('test', 'live')),
  type text not null,
  payment_id text collate "C",
  subscription_id text collate "C",
  body text not null,
  created_at timestamptz not null default service_now(),
  sequence bigint
);
create unique index events_sequence on events (store_id, mode, sequence) where sequence is not null;
create index events_unrelayed on events (order_key) where sequence is null;
create index events_payment on events (payment_id) where payment_id is not null;
create index events_created on events (store_id, created_at);

-- A row is the last sequence given to an event of a store and mode.
create table event_sequences (
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  last_sequence bigint not null default 0,
  primary key (store_id, mode)
);

-- A row is an event owed to a store's endpoint. next_attempt_at is the schedule; queued_until says that a job of the
-- queue has it in hand. A store without an endpoint parks what is pending: next_attempt_at stays, nothing is queued.
create table deliveries (
  delivery_id text collate "C" primary key,
  event_id text collate "C" not null references events,
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  event_type text not null,
  payment_id text collate "C",
  url text,
  status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'DEAD')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  queued_until timestamptz not null default '-infinity',
  deadline_at timestamptz not null,
  created_at timestamptz not null default service_now(),
  delivered_at timestamptz,
  ended_at timestamptz,
  check ((status = 'PENDING') = (next_attempt_at is not null))
);
create index deliveries_due on deliveries (next_attempt_at) where status = 'PENDING';
create index deliveries_store on deliveries (store_id, delivery_id);
create index deliveries_waiting on deliveries (store_id, next_attempt_at) where status = 'PENDING';
create index deliveries_event on deliveries (event_id);

-- A row is one POST to an endpoint and what came of it.
create table attempts (
  delivery_id text collate "C" not null references deliveries,
  attempt_number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  response_status integer,
  response_body text,
  error text,
  url text not null,
  primary key (delivery_id, attempt_number)
);
