-- Who is asking, and for what: the checks of both publishable-key endpoints, in the order of precedence. One row, whose
-- `code` is the first check that fails, or null. One statement that is planned into whatever asks, for one caller or for
-- many, so that POST /checkout/info and POST /checkout agree.
--
-- Hosted pages sell what a payment link or a checkout session names, without a publishable key: the id in the page's
-- path is the capability, and revoking keys must not take a seller's links down. They call with no key, and with an
-- empty list of origin hosts, since the page is ours. All other checks are the same, in the same order.
create function resolve_checkout(
  -- Null for a hosted page: the store and mode are then those of the link or session.
  p_key_hash bytea,
  -- The Origin header's host with each of its parent domains; null when there is no valid header.
  p_origin_hosts text[],
  p_price_id text,
  p_payment_link_id text,
  p_session_id text,
  p_amount_cents bigint
)
returns table (
  code text,
  store_id text,
  account_id text,
  mode text,
  plan text,
  seller_name text,
  branding jsonb,
  amount_cents bigint,
  price_id text,
  payment_link_id text,
  session_id text,
  every_interval text,
  every_count integer,
  networks text[],
  tokens text[],
  metadata jsonb,
  buyer_email text
)
language sql stable
as $$
  select
    case
      when s.store_id is null then case
        when p_key_hash is not null then 'invalid_api_key'
        when p_session_id is null then 'payment_link_not_found'
        else 'session_not_found'
      end
      when k.mode = 'live' and p_origin_hosts is null then 'origin_required'
      when k.mode = 'live' and p_key_hash is not null and exists (
        select from origins o
        where o.store_id = k.store_id and o.host = any (p_origin_hosts) and o.status = 'REJECTED'
      ) then 'origin_not_allowed'
      when k.mode = 'live' and a.status <> 'ACTIVE' then 'account_disabled'
      when k.mode = 'live' and a.email_verified_at is null then 'email_unverified'
      when p_amount_cents is not null then case
        when not a.open_amount_enabled then 'open_amount_disabled'
        when p_amount_cents not between 1 and 100000000 then 'amount_out_of_range'
      end
      when p_payment_link_id is not null and l.payment_link_id is null then 'payment_link_not_found'
      when p_payment_link_id is not null and not l.active then 'link_inactive'
      when p_session_id is not null and c.session_id is null then 'session_not_found'
      when p_session_id is not null and (c.status <> 'OPEN' or c.expires_at <= service_now()) then 'session_closed'
      when c.amount_cents is not null then null
      when p.price_id is null then 'price_not_found'
      when not p.is_sold then 'price_inactive'
    end,
    s.store_id, s.account_id, k.mode, a.plan,
    coalesce(a.seller_name, s.branding ->> 'displayName', s.name), s.branding,
    coalesce(p_amount_cents, c.amount_cents, p.amount_cents), p.price_id, l.payment_link_id, c.session_id,
    p.interval, p.interval_count, p.networks, p.tokens, coalesce(l.metadata, c.metadata), c.buyer_email
  from (select) asked
  left join lateral (
    select k.store_id, k.mode from keys k
    where k.key_hash = p_key_hash and k.kind = 'PUBLISHABLE' and k.revoked_at is null
    union all
    select l.store_id, l.mode from payment_links l
    where p_key_hash is null and l.payment_link_id = p_payment_link_id
    union all
    select c.store_id, c.mode from checkout_sessions c
    where p_key_hash is null and c.session_id = p_session_id
  ) k on true
  left join stores s on s.store_id = k.store_id
  left join accounts a on a.account_id = s.account_id
  left join payment_links l
    on l.payment_link_id = p_payment_link_id and l.store_id = k.store_id and l.mode = k.mode
  left join checkout_sessions c
    on c.session_id = p_session_id and c.store_id = k.store_id and c.mode = k.mode
  left join prices p
    on p.price_id = coalesce(p_price_id, l.price_id, c.price_id) and p.store_id = k.store_id and p.mode = k.mode
$$;

-- Contract section 1: at most 20 keys and 2,048 bytes of UTF-8 JSON, written without spaces. Postgres prints a
-- space after each colon and comma: one per key and one per key but the last.
create function is_metadata_within_limits(p_metadata jsonb)
returns boolean
language sql immutable
as $$
  select count(*) <= 20
    and octet_length(p_metadata::text) - greatest(2 * count(*) - 1, 0) <= 2048
  from jsonb_object_keys(p_metadata)
$$;

-- What else refuses a claim, at its rank behind the terms' own `code`: the networks table's refusal of network or token,
-- and two answers for the caller, `metadata_too_large` and `recurring` (open a subscription, and pass its id).
create function refuse_claim(
  p_code text,
  p_networks text[],
  p_tokens text[],
  p_interval text,
  p_network text,
  p_token text,
  p_network_code text,
  p_subscription_id text,
  p_metadata jsonb
)
returns text
language sql immutable
as $$
  select coalesce(p_code, case
    when not p_network = any (p_networks) then 'network_not_accepted'
    when p_network_code is not null then p_network_code
    when not p_token = any (p_tokens) then 'token_not_accepted'
    when p_metadata is not null and not is_metadata_within_limits(p_metadata) then 'metadata_too_large'
    when p_interval is not null and p_subscription_id is null then 'recurring'
  end)
$$;

-- What an account received this month, in micro-dollars.
create function month_receipts(p_account_id text)
returns table (amount_micros numeric)
language sql stable
as $$
  select coalesce(sum(v.amount_micros), 0)
  from volume_entries v
  where v.account_id = p_account_id
    and v.month = date_trunc('month', service_now() at time zone 'UTC')::date
$$;

-- Whether over half of the amounts of a price are held at an address: one caller may then hold only so many of them.
-- Its arguments are texts of one collation, those of `slots`: with a store's id among them the indexes are of no use.
create function is_crowded(
  p_address text,
  p_token text,
  p_deployment text,
  p_price_base_units numeric,
  p_tail_unit numeric
)
returns boolean
language plpgsql stable
as $$
declare
  c_half constant integer := 4500;
begin
  return exists (
    select from slots s
    where s.address = p_address and s.token = p_token and s.deployment = p_deployment
      and s.amount_base_units between p_price_base_units + p_tail_unit and p_price_base_units + 9999 * p_tail_unit
    offset c_half
  );
end
$$;

-- Holds a free exact amount for a payment at its fixed address: a random tail first, then any free one, and when none is
-- free the slot whose holder ended longest ago. Returns the amount; null when nothing can be had.
create function take_tailed_slot(p_payment payments, p_tail_unit numeric, p_client_ip text)
returns numeric
language plpgsql
as $$
declare
  -- 9,000 tails exist: 1 to 9,999 without the multiples of ten. A collision is likely only when an address is crowded.
  c_tail_count constant integer := 9000;
  c_random_tries constant integer := 6;
  c_search_tries constant integer := 3;
  v_tail integer;
  v_try integer;
  v_amount numeric;
begin
  for v_try in 1 .. c_random_tries + c_search_tries loop
    if v_try <= c_random_tries then
      v_tail := floor(random() * c_tail_count);
      v_tail := v_tail / 9 * 10 + v_tail % 9 + 1;
    else
      select t into v_tail
      from generate_series(1, 9999) t
      where t % 10 <> 0 and not exists (
        select from slots s
        where s.address = p_payment.address and s.token = p_payment.token and s.deployment = p_payment.deployment
          and s.amount_base_units = p_payment.price_base_units + t * p_tail_unit
      )
      order by random()
      limit 1;
      exit when not found;
    end if;
    v_amount := p_payment.price_base_units + v_tail * p_tail_unit;
    insert into slots (address, amount_base_units, token, deployment, payment_id, store_id,
      price_base_units, is_exclusive, client_ip, expires_at)
    values (p_payment.address, v_amount, p_payment.token, p_payment.deployment, p_payment.payment_id,
      p_payment.store_id, p_payment.price_base_units, false, p_client_ip, p_payment.expires_at)
    on conflict do nothing;
    if found then
      return v_amount;
    end if;
  end loop;

  update slots s set
    payment_id = p_payment.payment_id, store_id = p_payment.store_id, is_open = true,
    price_base_units = p_payment.price_base_units, client_ip = p_client_ip,
    expires_at = p_payment.expires_at, ended_at = null, release_at = null,
    previous_payment_id = s.payment_id, previous_ended_at = s.ended_at
  where s.payment_id = (
    select q.payment_id from slots q
    where q.address = p_payment.address and q.token = p_payment.token and q.deployment = p_payment.deployment
      and q.amount_base_units between p_payment.price_base_units + p_tail_unit
        and p_payment.price_base_units + 9999 * p_tail_unit
      and not q.is_open
    order by q.ended_at
    limit 1
    for update skip locked
  )
  returning s.amount_base_units into v_amount;
  return case when found then v_amount end;
end
$$;

-- Claims a slot for a payment on one of the store's wallets and inserts the payment. The caller fills in all that is
-- known of the payment; address, due amount, exclusivity, position and times are decided here.
-- Codes: no_wallet, volume_cap_reached, rate_limited, slots_exhausted, and pool_empty, on which the caller derives
-- addresses for `xpub` and calls again.
create function claim_slot(
  p_payment payments,
  p_ttl_minutes integer,
  p_client_ip text,
  p_volume_cap_usd numeric,
  p_open_payments_per_ip integer,
  out code text,
  out payment payments,
  out xpub text,
  out xpub_left integer
)
language plpgsql
-- Everything here is found by key. A session that planned these statements while the tables were small would else go on
-- reading all slots, claim by claim, until statistics are next collected. Nor is anything gained by planning for the
-- amount at hand, which the range of tails would have done at every claim: a third of the claim's work.
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_wallet record;
  v_child record;
  v_tail_unit constant numeric := power(10::numeric, p_payment.decimals - 6);
  v_tried text[] := '{}';
begin
  payment := p_payment;
  payment.created_at := service_now();
  payment.expires_at := payment.created_at + make_interval(mins => p_ttl_minutes);
  payment.price_base_units := p_payment.amount_cents * power(10::numeric, p_payment.decimals - 2);

  loop
    select w.wallet_id, w.address, w.xpub into v_wallet
    from wallets w
    where w.store_id = p_payment.store_id and w.mode = p_payment.mode
      and w.network = p_payment.network and w.removed_at is null and w.wallet_id <> all (v_tried)
    order by w.xpub is null, random()
    limit 1;
    exit when not found;
    if v_tried = '{}' and p_payment.mode = 'live' and p_volume_cap_usd is not null
      and (select r.amount_micros from month_receipts(p_payment.account_id) r) >= p_volume_cap_usd * 1000000 then
      code := 'volume_cap_reached';
      return;
    end if;

    payment.address := v_wallet.address;
    payment.is_exclusive := v_wallet.xpub is not null;
    if payment.is_exclusive then
      update xpub_addresses x set free_at = 'infinity', payment_id = p_payment.payment_id
      where x.xpub = v_wallet.xpub and x.address_index = (
        select f.address_index from xpub_addresses f
        where f.xpub = v_wallet.xpub and f.received_at is null and f.free_at < 'infinity'
          and f.free_at <= service_now()
          -- Its last payment's slot is let go only when the chain was read past the quarantine: until then it is held.
          and not exists (select from slots s where s.address = f.address)
        order by f.address_index
        limit 1
        for update skip locked
      )
      returning x.address, x.address_index into v_child;
      if not found then
        code := 'pool_empty';
        xpub := v_wallet.xpub;
        return;
      end if;
      xpub := v_wallet.xpub;
      select k.derived_count - v_child.address_index - 1 into xpub_left
      from xpubs k where k.xpub = v_wallet.xpub;
      payment.address := v_child.address;
      payment.amount_base_units := payment.price_base_units;
      insert into slots (address, amount_base_units, token, deployment, payment_id, store_id,
        price_base_units, is_exclusive, client_ip, expires_at)
      values (v_child.address, payment.price_base_units, payment.token, payment.deployment, payment.payment_id,
        payment.store_id, payment.price_base_units, true, p_client_ip, payment.expires_at);
      code := null;
    elsif exists (
      -- The caller's own are few, so they are looked at first, and mostly alone.
      select from slots s
      where s.address = payment.address and s.client_ip = p_client_ip and s.is_open
        and s.token = payment.token and s.deployment = payment.deployment
        and s.price_base_units = payment.price_base_units
      offset p_open_payments_per_ip - 1
    ) and is_crowded(payment.address, payment.token, payment.deployment, payment.price_base_units, v_tail_unit) then
      code := 'rate_limited';
    else
      payment.amount_base_units := take_tailed_slot(payment, v_tail_unit, p_client_ip);
      code := case when payment.amount_base_units is null then 'slots_exhausted' end;
    end if;
    exit when code is null;
    v_tried := v_tried || v_wallet.wallet_id;
  end loop;

  if v_wallet is null and v_tried = '{}' then
    code := 'no_wallet';
  end if;
  if code is not null then
    return;
  end if;

  insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals, address,
    is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units, position_block,
    price_id, payment_link_id, session_id, subscription_id, reference_key, metadata, origin_host, buyer_email,
    created_at, expires_at)
  values (payment.payment_id, payment.store_id, payment.account_id, payment.mode, payment.network, payment.token,
    payment.deployment, payment.contract, payment.decimals, payment.address, payment.is_exclusive, payment.clock,
    payment.confirmations_required, payment.amount_cents, payment.price_base_units, payment.amount_base_units,
    -- Whoever is told the address afterwards cannot have paid in a block at or below it.
    (select d.block_number from deployments d where d.deployment = payment.deployment),
    payment.price_id, payment.payment_link_id, payment.session_id, payment.subscription_id, payment.reference_key,
    payment.metadata, payment.origin_host, payment.buyer_email, payment.created_at, payment.expires_at);
  if p_payment.session_id is not null then
    update checkout_sessions c set payment_id = p_payment.payment_id
    where c.session_id = p_payment.session_id;
  end if;
end
$$;

-- One checkout: the checks, then the claim. `code` is an error of the catalogue, or one of three answers for the
-- caller: `recurring` (open a subscription and pass its id), `pool_empty` (derive addresses for `xpub` and call
-- again) and `metadata_too_large`.
create function claim_checkout(
  -- What is paid for, as resolve_checkout takes it (`key_hash` in hexadecimal), and what the caller knows of the payment:
  -- its id, network, token and the deployment's facts, the window, the client. `network_code` is the networks table's own
  -- refusal of network or token, raised at its rank.
  p_request jsonb,
  p_plan_caps jsonb,
  p_open_payments_per_ip integer,
  out code text,
  out payment payments,
  out branding jsonb,
  out every_interval text,
  out every_count integer,
  out xpub text,
  out xpub_left integer
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  v_terms record;
  v_claim record;
begin
  payment := jsonb_populate_record(null::payments, p_request);
  select t.*, r.network_code, r.ttl_minutes, r.client_ip into v_terms
  from jsonb_to_record(p_request) as r(
    key_hash text, origin_hosts text[], price_id text, payment_link_id text, session_id text, amount_cents bigint,
    network_code text, ttl_minutes integer, client_ip text
  )
  cross join lateral resolve_checkout(decode(r.key_hash, 'hex'), r.origin_hosts, r.price_id, r.payment_link_id,
    r.session_id, r.amount_cents) t;
  if v_terms.metadata is not null then
    payment.metadata := coalesce(payment.metadata, '{}') || v_terms.metadata;
  end if;
  code := refuse_claim(v_terms.code, v_terms.networks, v_terms.tokens, v_terms.every_interval, payment.network,
    payment.token, v_terms.network_code, payment.subscription_id, payment.metadata);
  if code is not null then
    return;
  end if;
  payment.store_id := v_terms.store_id;
  payment.account_id := v_terms.account_id;
  payment.mode := v_terms.mode;
  payment.amount_cents := v_terms.amount_cents;
  payment.price_id := v_terms.price_id;
  payment.buyer_email := coalesce(v_terms.buyer_email, payment.buyer_email);
  branding := v_terms.branding;
  every_interval := v_terms.every_interval;
  every_count := v_terms.every_count;
  v_claim := claim_slot(payment, v_terms.ttl_minutes, v_terms.client_ip, (p_plan_caps ->> v_terms.plan)::numeric,
    p_open_payments_per_ip);
  code := v_claim.code;
  payment := v_claim.payment;
  xpub := v_claim.xpub;
  xpub_left := v_claim.xpub_left;
end
$$;

-- Many checkouts in one statement: for each the checks, a random tail on the store's one plain address, and the payment.
-- Answers a JSON array. What is not as simple (a session, an xpub, several addresses, a tail that was taken) is left
-- alone with the code `unsettled`, for claim_checkout.
create function claim_checkouts(p_requests jsonb, p_plan_caps jsonb, p_open_payments_per_ip integer)
returns json
language plpgsql
-- As in claim_slot: by key, and planned once.
set enable_seqscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_answers json;
begin
  with asked as (
    select r.*,
      t.code as terms_code, t.store_id, t.account_id, t.mode, t.plan, t.branding, t.amount_cents as due_cents,
      t.price_id as due_price_id, t.payment_link_id as due_link_id, t.every_interval, t.networks, t.tokens,
      case when t.metadata is null then r.metadata else coalesce(r.metadata, '{}') || t.metadata end as all_metadata,
      t.amount_cents * power(10::numeric, r.decimals - 2) as price_base_units,
      power(10::numeric, r.decimals - 6) as tail_unit,
      case when t.mode = 'live' then (p_plan_caps ->> t.plan)::numeric end as cap_usd,
      row_number() over (partition by r.client_ip, t.store_id, r.network, r.token) as place,
      floor(random() * 9000)::integer as pick
    from jsonb_to_recordset(p_requests) as r(
      payment_id text, key_hash text, origin_hosts text[], price_id text, payment_link_id text, session_id text,
      amount_cents bigint, network text, token text, network_code text, deployment text, contract text,
      decimals integer, clock text, confirmations_required integer, reference_key text, metadata jsonb,
      origin_host text, buyer_email text, ttl_minutes integer, client_ip text
    )
    cross join lateral resolve_checkout(decode(r.key_hash, 'hex'), r.origin_hosts, r.price_id, r.payment_link_id,
      r.session_id, r.amount_cents) t
  ), judged as materialized (
    select a.*, w.address, coalesce(
      refuse_claim(a.terms_code, a.networks, a.tokens, a.every_interval, a.network, a.token, a.network_code, null,
        a.all_metadata),
      case
        when w.wallet_count = 0 then 'no_wallet'
        when v.amount_micros >= a.cap_usd * 1000000 then 'volume_cap_reached'
        when w.wallet_count > 1 or w.address is null or a.session_id is not null then 'unsettled'
        when exists (
          select from slots s
          where s.address = w.address and s.client_ip = a.client_ip and s.is_open
            and s.token = a.token and s.deployment = a.deployment and s.price_base_units = a.price_base_units
          -- Less the caller's others in this very statement.
          offset greatest(p_open_payments_per_ip - a.place, 0)
        ) and is_crowded(w.address, a.token, a.deployment, a.price_base_units, a.tail_unit) then 'rate_limited'
      end
    ) as code
    from asked a
    cross join lateral (
      select count(*) as wallet_count, min(w.address) as address from wallets w
      where w.store_id = a.store_id and w.mode = a.mode and w.network = a.network and w.removed_at is null
    ) w
    -- Test payments never count, and where there is no ceiling nothing is summed.
    left join lateral month_receipts(case when a.cap_usd is not null then a.account_id end) v
      on a.cap_usd is not null
  ), taken as (
    insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
      is_exclusive, client_ip, expires_at)
    select j.address, j.price_base_units + (j.pick / 9 * 10 + j.pick % 9 + 1) * j.tail_unit, j.token, j.deployment,
      j.payment_id, j.store_id, j.price_base_units, false, j.client_ip,
      service_now() + make_interval(mins => j.ttl_minutes)
    from judged j
    where j.code is null
    -- In one order, so that two of these statements never wait for each other in a circle.
    order by 1, 2, 3, 4
    on conflict do nothing
    returning payment_id, amount_base_units, expires_at
  ), made as (
    insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals,
      address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units,
      position_block, price_id, payment_link_id, reference_key, metadata, origin_host, buyer_email, created_at,
      expires_at)
    select j.payment_id, j.store_id, j.account_id, j.mode, j.network, j.token, j.deployment, j.contract, j.decimals,
      j.address, false, j.clock, j.confirmations_required, j.due_cents, j.price_base_units, t.amount_base_units,
      -- Whoever is told the address afterwards cannot have paid in a block at or below it.
      (select d.block_number from deployments d where d.deployment = j.deployment),
      j.due_price_id, j.due_link_id, j.reference_key, j.all_metadata, j.origin_host, j.buyer_email, service_now(),
      t.expires_at
    from taken t
    join judged j using (payment_id)
  )
  select json_agg(json_build_object(
    'paymentId', j.payment_id, 'code', case when t.payment_id is null then coalesce(j.code, 'unsettled') end,
    'amountCents', j.due_cents, 'address', j.address, 'amountBaseUnits', t.amount_base_units::text,
    'createdAt', service_now(), 'expiresAt', t.expires_at, 'branding', j.branding))
  into v_answers
  from judged j
  left join taken t using (payment_id);
  return v_answers;
end
$$;

-- Checkouts that came together, in one round trip: counts them in a transaction of its own, so that counting never waits
-- for a claim's flush to disk, then claims. `counts` is a JSON array, and so are `claims`, which has those within the
-- limit. A request has what claim_checkouts reads, and `rate_key`.
create procedure begin_checkouts(
  p_requests jsonb,
  p_rate_limit integer,
  p_window_seconds integer,
  p_plan_caps jsonb,
  p_open_payments_per_ip integer,
  inout counts json default null,
  inout claims json default null
)
language plpgsql
as $$
declare
  v_over text[];
begin
  with asked as materialized (
    select r.payment_id, r.rate_key, row_number() over (partition by r.rate_key) as place,
      count(*) over (partition by r.rate_key) as total
    from jsonb_to_recordset(p_requests) as r(payment_id text, rate_key text)
  ), counted as (
    select a.payment_id, c.request_count - a.total + a.place as request_count, c.reset_seconds
    from asked a
    join count_requests(
      (select array_agg(s.rate_key order by s.rate_key) from asked s where s.place = 1),
      (select array_agg(s.total order by s.rate_key) from asked s where s.place = 1),
      p_window_seconds
    ) c using (rate_key)
  )
  select json_agg(json_build_object(
      'paymentId', c.payment_id, 'requestCount', c.request_count, 'resetSeconds', c.reset_seconds)),
    array_agg(c.payment_id) filter (where c.request_count > p_rate_limit)
  into counts, v_over
  from counted c;
  commit;
  if v_over is not null then
    p_requests := (select jsonb_agg(r) from jsonb_array_elements(p_requests) r where r ->> 'payment_id' <> all (v_over));
  end if;
  claims := claim_checkouts(p_requests, p_plan_caps, p_open_payments_per_ip);
end
$$;
