-- A row is a fact the seller is told, with the exact bytes of its body: the outbox. Written in the transaction of
-- the change it tells; its id makes "confirmed once" a constraint. Never written again: what becomes of it stands elsewhere.
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
  created_at timestamptz not null default service_now()
);
create index events_payment on events (payment_id) where payment_id is not null;
create index events_created on events (store_id, created_at);

-- A row is an event that waits for the relay to number it. A table that is nearly always empty, so that finding what waits
-- costs the same whatever came before.
create table waiting_events (
  order_key text collate "C" not null,
  event_id text collate "C" not null,
  store_id text collate "C" not null,
  mode text not null,
  primary key (order_key, event_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);

-- Whoever writes an event makes it wait: none can be stored that the relay does not find.
create function await_relay() returns trigger
language plpgsql as $$
begin
  insert into waiting_events (order_key, event_id, store_id, mode)
  select order_key, event_id, store_id, mode from told;
  return null;
end
$$;
create trigger events_await_relay after insert on events
referencing new table as told
for each statement execute function await_relay();

-- A row is the place of an event among its store's of one mode: 1, 2, 3 without gaps. Apart from the event, because
-- writing it there would write the whole body and every index entry again.
create table event_numbers (
  store_id text collate "C" not null,
  mode text not null,
  sequence bigint not null,
  event_id text collate "C" not null,
  primary key (store_id, mode, sequence)
);
create unique index event_numbers_event on event_numbers (event_id);

-- A row is the last sequence given to an event of a store and mode. Half of each page is left free, so that counting on
-- touches no index.
create table event_sequences (
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  last_sequence bigint not null default 0,
  primary key (store_id, mode)
) with (fillfactor = 50);

-- A row is an event owed to a store's endpoint. next_attempt_at is the schedule; queued_until says that a job of the
-- queue has it in hand. A store without an endpoint parks what is pending: next_attempt_at stays, nothing is queued.
-- Event and store are no foreign keys: rows are only ever selected from these, which are never deleted, and checking it
-- again for each row took a third of what making a delivery costs.
create table deliveries (
  delivery_id text collate "C" primary key,
  event_id text collate "C" not null,
  store_id text collate "C" not null,
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

-- A row is one POST to an endpoint and what came of it. Written by the statement that finds and updates its delivery, so
-- that a foreign key would only ask the same once more.
create table attempts (
  delivery_id text collate "C" not null,
  attempt_number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  response_status integer,
  response_body text,
  error text,
  url text not null,
  primary key (delivery_id, attempt_number)
);
