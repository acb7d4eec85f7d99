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

-- A row is the place of an event among its store's of one mode, 1, 2, 3 without gaps, and the delivery it is owed: none
-- while its store has no endpoint. Apart from the event, because writing it there would write the whole body and every
-- index entry again.
create table event_numbers (
  store_id text collate "C" not null,
  mode text not null,
  sequence bigint not null,
  event_id text collate "C" not null,
  delivery_id text collate "C",
  primary key (store_id, mode, sequence)
);
create unique index event_numbers_event on event_numbers (event_id);

-- A row is the last sequence given to an event of a store and mode. Most of each page is left free, so that counting on
-- touches no index, even when it goes on faster than old versions can be cleared away.
create table event_sequences (
  store_id text collate "C" not null references stores,
  mode text not null check (mode in ('test', 'live')),
  last_sequence bigint not null default 0,
  primary key (store_id, mode)
) with (fillfactor = 20);

-- A row is a part of the stores. Whoever gives events their sequence holds the shards of their stores meanwhile: a few locks
-- in place of one for each counter.
create table relay_shards (
  shard integer primary key
);
insert into relay_shards select generate_series(0, 15);

-- The shard of a store, 0 to 15.
create function relay_shard(store_id text) returns integer
language sql immutable parallel safe
return hashtext(store_id) & 15;

-- A row is an event owed to a store's endpoint. queued_until says that a job of the queue has it in hand; of one that was
-- queued as it was made, first_queued_until says the same, and goes on saying it. A store without an endpoint parks what
-- is pending: next_attempt_at stays, nothing is queued.
-- Event and store are no foreign keys: rows are only ever selected from these, which are never deleted, and checking it
-- again for each row took a third of what making a delivery costs.
-- Its last attempt stands in the row (last_…, and url is where it went; before the first one, where it was to go), those
-- before it in attempts: nearly every delivery is attempted once, and then has one row in all.
-- The larger part of each page is left free and no index holds what an attempt changes, so that writing down a success
-- touches none.
create table deliveries (
  delivery_id text collate "C" primary key,
  event_id text collate "C" not null,
  store_id text collate "C" not null,
  mode text not null check (mode in ('test', 'live')),
  event_type text not null,
  payment_id text collate "C",
  url text not null,
  status text not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'DEAD')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  queued_until timestamptz not null default '-infinity',
  first_queued_until timestamptz,
  deadline_at timestamptz not null,
  created_at timestamptz not null default service_now(),
  delivered_at timestamptz,
  dead_at timestamptz,
  last_attempt_at timestamptz,
  last_duration_ms integer,
  last_response_status integer,
  last_response_body text,
  last_error text,
  check ((status = 'PENDING') = (next_attempt_at is not null)),
  check ((status = 'DEAD') = (dead_at is not null)),
  -- An attempt was answered, with a body if an empty one, or it failed.
  check (num_nonnulls(last_attempt_at, last_duration_ms) = case when attempt_count > 0 then 2 else 0 end),
  check (num_nonnulls(last_response_status, last_error) = case when attempt_count > 0 then 1 else 0 end),
  check ((last_response_status is null) = (last_response_body is null))
) with (fillfactor = 40);

-- A row is a pending delivery on the schedule, with what a look for due ones asks: all that are pending but those that are
-- in hand since they were made, most of which end there. What a partial index would hold; as a table of its own it spares
-- the delivery's other indexes a new entry with each change, and the schedule costs only what is on it.
create table scheduled_deliveries (
  delivery_id text collate "C" primary key,
  store_id text collate "C" not null,
  next_attempt_at timestamptz not null,
  queued_until timestamptz not null,
  deadline_at timestamptz not null,
  has_failed boolean not null
) with (fillfactor = 70);
-- First attempts go ahead of retries, however late those are.
create index scheduled_deliveries_due on scheduled_deliveries (store_id, has_failed, next_attempt_at);

-- The only writer of the schedule: it follows deliveries, whoever changes one, under the lock of its row.
create function schedule_delivery() returns trigger
language plpgsql as $$
begin
  if new.status = 'PENDING' and new.queued_until is distinct from new.first_queued_until then
    insert into scheduled_deliveries
      (delivery_id, store_id, next_attempt_at, queued_until, deadline_at, has_failed)
    values (new.delivery_id, new.store_id, new.next_attempt_at, new.queued_until, new.deadline_at, new.attempt_count > 0)
    on conflict (delivery_id) do update set
      next_attempt_at = excluded.next_attempt_at,
      queued_until = excluded.queued_until,
      deadline_at = excluded.deadline_at,
      has_failed = excluded.has_failed;
  else
    delete from scheduled_deliveries where delivery_id = new.delivery_id;
  end if;
  return null;
end
$$;
create trigger deliveries_schedule_made after insert on deliveries
for each row
when (new.status = 'PENDING' and new.queued_until is distinct from new.first_queued_until)
execute function schedule_delivery();
create trigger deliveries_schedule_changed after update on deliveries
for each row
when ((old.status = 'PENDING' and old.queued_until is distinct from old.first_queued_until)
  or (new.status = 'PENDING' and new.queued_until is distinct from new.first_queued_until))
execute function schedule_delivery();

-- A row is a bundle of deliveries that went into the queue as they were made. It goes when the last of them has been
-- attempted; one that is still there at queued_until was lost with its job, and what is left of it goes on the schedule.
create table fresh_bundles (
  bundle_id text collate "C" primary key,
  delivery_ids text[] collate "C" not null,
  queued_until timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);
create index fresh_bundles_lost on fresh_bundles (queued_until);

-- A row is one POST to an endpoint and what came of it, of a delivery that has been attempted again since. Written as its
-- delivery is, so that a foreign key would only ask the same once more.
create table attempts (
  delivery_id text collate "C" not null,
  attempt_number integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  url text not null,
  response_status integer,
  response_body text,
  error text,
  primary key (delivery_id, attempt_number)
);

-- The only writer of attempts: whoever writes down an attempt makes way for it, under the lock of the delivery's row.
create function keep_attempt() returns trigger
language plpgsql as $$
begin
  insert into attempts
    (delivery_id, attempt_number, at, duration_ms, url, response_status, response_body, error)
  values (old.delivery_id, old.attempt_count, old.last_attempt_at, old.last_duration_ms, old.url,
    old.last_response_status, old.last_response_body, old.last_error);
  return null;
end
$$;
create trigger deliveries_attempted_again after update on deliveries
for each row
when (old.attempt_count > 0 and new.attempt_count <> old.attempt_count)
execute function keep_attempt();
