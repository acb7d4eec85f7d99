-- The relay's step: gives the events that wait longest their sequence, without gaps per store and mode, and makes the
-- deliveries they are owed, due at once and until delivery_window after the event. Of each store (and mode) the first few are
-- marked as queued, as many as it has room for; what an attempt needs of these is answered, so that nobody has to read it again.
-- A row of the answer is a numbered event; without an endpoint it has no delivery, and unless it is queued no bundle.
--
-- delivery_ids     one for each event at most, ascending, so that deliveries list in the order of the sequence
-- shard_count_max  shards it may hold, at random: what it leaves, another relay can number meanwhile; null is all of them
-- bundle_size      so many events in a row have their deliveries in one bundle, counted from 0; its id is the first id they were given
-- rooms            store ids and their room, of stores whose room is not the ordinary one
--
-- What all rows have in common, the token and the time, only the first event's row says: a thousand rows are read.
--
-- The caller's transaction adds the jobs and commits. For its rest plans go by index: the relay touches some hundred rows of
-- tables with millions, but a plan is kept, and one made while a table was empty would scan it for ever. For the same reason
-- rows of large tables are looked up one by one ("offset 0" keeps a look-up from becoming a join), and rows that were read
-- are found again by their place: nobody else writes them while their shard is held.
create function relay_events(
  delivery_ids text[],
  shard_count_max integer,
  delivery_window interval,
  queued_for interval,
  bundle_size integer,
  room integer,
  rooms jsonb,
  secret_count_max integer
)
returns table (
  store_id text,
  delivery_id text,
  bundle integer,
  token text,
  event_id text,
  event_type text,
  deadline_at timestamptz,
  body text,
  url text,
  secret_ids text,
  now timestamptz
)
language plpgsql as $$
#variable_conflict use_column
declare
  event_count_max integer := cardinality(delivery_ids);
  held integer[];
  time timestamptz := service_now();
  queue_until timestamptz := time + queued_for;
  queue_token text := queue_until::text;
begin
  perform set_config('enable_seqscan', 'off', true);
  -- Planning for the very parameters of a call would take longer than relaying a single event, and come to the same plan.
  perform set_config('plan_cache_mode', 'force_generic_plan', true);
  -- Shards that another relay holds are left to it. A statement of its own: only what the next one reads, now that the
  -- shards are held, is nobody else's.
  select array_agg(s.shard) into held
  from (select shard from relay_shards order by random() limit shard_count_max for update skip locked) s;
  return query
    with waiting as materialized (
      select w.ctid as waiting_row, w.event_id, w.store_id, w.mode,
        row_number() over (order by w.order_key, w.event_id) as place
      from waiting_events w
      where relay_shard(w.store_id) = any (held)
      order by w.order_key, w.event_id
      limit event_count_max
    ), counters as materialized (
      -- With all else that is asked of a store: once for each, however many of its events wait.
      select w.store_id, w.mode, w.event_count, coalesce(q.last_sequence, 0) as last_sequence, q.counter_row, s.webhook_url,
        coalesce((rooms ->> w.store_id)::integer, room) as store_room,
        array_to_string(array(
          select k.webhook_secret_id
          from webhook_secrets k
          where k.store_id = w.store_id and (k.expires_at is null or k.expires_at > time)
          order by k.webhook_secret_id desc
          limit secret_count_max
        ), ',') as secret_ids
      from (select store_id, mode, count(*) as event_count from waiting group by store_id, mode) w
      cross join lateral (
        select s.webhook_url from stores s where s.store_id = w.store_id offset 0
      ) s
      left join lateral (
        select q.last_sequence, q.ctid as counter_row
        from event_sequences q
        where q.store_id = w.store_id and q.mode = w.mode
        offset 0
      ) q on true
    ), counted as (
      update event_sequences s
      set last_sequence = c.last_sequence + c.event_count
      from counters c
      where s.ctid = c.counter_row
    ), counted_first as (
      insert into event_sequences (store_id, mode, last_sequence)
      select c.store_id, c.mode, c.event_count from counters c where c.counter_row is null
    ), numbered as materialized (
      select w.event_id, w.store_id, w.mode, w.place, i.delivery_id, c.last_sequence, c.webhook_url, c.store_room, c.secret_ids,
        row_number() over (partition by w.store_id, w.mode order by w.place) as store_place
      from waiting w
      join counters c on c.store_id = w.store_id and c.mode = w.mode
      join unnest(delivery_ids) with ordinality i (delivery_id, place) on i.place = w.place
      -- Of the indexes that follow, two then grow at their end.
      order by w.place
    ), taken as (
      delete from waiting_events w
      using waiting t
      where w.ctid = t.waiting_row
    ), told as materialized (
      select n.event_id, n.store_id, n.mode, n.place, e.type, e.payment_id, e.body, n.webhook_url, n.secret_ids,
        n.last_sequence + n.store_place as sequence,
        e.created_at + delivery_window as deadline_at,
        -- None without an endpoint.
        case when n.webhook_url is not null then n.delivery_id end as delivery_id,
        case
          when n.webhook_url is not null and n.store_place <= n.store_room then ((n.place - 1) / bundle_size)::integer
        end as bundle
      from numbered n
      cross join lateral (
        select e.type, e.payment_id, e.body, e.created_at from events e where e.event_id = n.event_id offset 0
      ) e
    ), placed as (
      insert into event_numbers (store_id, mode, sequence, event_id, delivery_id)
      select t.store_id, t.mode, t.sequence, t.event_id, t.delivery_id from told t
    ), made as (
      insert into deliveries (delivery_id, event_id, store_id, mode, event_type, payment_id, url, next_attempt_at,
        deadline_at, queued_until, first_queued_until, created_at)
      select t.delivery_id, t.event_id, t.store_id, t.mode, t.type, t.payment_id, t.webhook_url, time, t.deadline_at,
        case when t.bundle is null then '-infinity' else queue_until end,
        case when t.bundle is not null then queue_until end,
        time
      from told t
      where t.delivery_id is not null
    ), bundled as (
      insert into fresh_bundles (bundle_id, delivery_ids, queued_until)
      select delivery_ids[1 + t.bundle * bundle_size], array_agg(t.delivery_id), queue_until
      from told t
      where t.bundle is not null
      group by t.bundle
    )
    select t.store_id, t.delivery_id, t.bundle, case when t.place = 1 then queue_token end, t.event_id, t.type, t.deadline_at,
      case when t.bundle is not null then t.body end, t.webhook_url, t.secret_ids,
      case when t.place = 1 then time end
    from told t;
end
$$;
