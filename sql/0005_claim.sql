-- Who is asking, and for what: the checks of both publishable-key endpoints, in the order of precedence.
-- `code` is the first that fails, or null. Shared by POST /checkout/info and POST /checkout, so that both agree.
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
  p_amount_cents bigint,
  out code text,
  out store_id text,
  out account_id text,
  out mode text,
  out plan text,
  out seller_name text,
  out branding jsonb,
  out amount_cents bigint,
  out price_id text,
  out payment_link_id text,
  out session_id text,
  out every_interval text,
  out every_count integer,
  out networks text[],
  out tokens text[],
  out metadata jsonb,
  out buyer_email text
)
language plpgsql stable
as $$
declare
  v_account record;
  v_row record;
begin
  if p_key_hash is null then
    select o.store_id, o.mode, s.account_id, s.branding, s.name, a.seller_name, a.status, a.plan,
      a.email_verified_at, a.open_amount_enabled, false as is_rejected
    into v_account
    from (
      select l.store_id, l.mode from payment_links l where l.payment_link_id = p_payment_link_id
      union all
      select c.store_id, c.mode from checkout_sessions c where c.session_id = p_session_id
    ) o
    join stores s on s.store_id = o.store_id
    join accounts a on a.account_id = s.account_id;
    if not found then
      code := case when p_session_id is null then 'payment_link_not_found' else 'session_not_found' end;
      return;
    end if;
  else
    select k.store_id, k.mode, s.account_id, s.branding, s.name, a.seller_name, a.status, a.plan,
      a.email_verified_at, a.open_amount_enabled,
      k.mode = 'live' and exists (
        select from origins o
        where o.store_id = k.store_id and o.host = any (p_origin_hosts) and o.status = 'REJECTED'
      ) as is_rejected
    into v_account
    from keys k
    join stores s on s.store_id = k.store_id
    join accounts a on a.account_id = s.account_id
    where k.key_hash = p_key_hash and k.kind = 'PUBLISHABLE' and k.revoked_at is null;
    if not found then
      code := 'invalid_api_key';
      return;
    end if;
  end if;
  store_id := v_account.store_id;
  account_id := v_account.account_id;
  mode := v_account.mode;
  plan := v_account.plan;
  branding := v_account.branding;
  seller_name := coalesce(v_account.branding ->> 'displayName', v_account.seller_name, v_account.name);

  if mode = 'live' then
    code := case
      when p_origin_hosts is null then 'origin_required'
      when v_account.is_rejected then 'origin_not_allowed'
      when v_account.status <> 'ACTIVE' then 'account_disabled'
      when v_account.email_verified_at is null then 'email_unverified'
    end;
    if code is not null then
      return;
    end if;
  end if;

  if p_amount_cents is not null then
    code := case
      when not v_account.open_amount_enabled then 'open_amount_disabled'
      when p_amount_cents not between 1 and 100000000 then 'amount_out_of_range'
    end;
    amount_cents := p_amount_cents;
    return;
  end if;

  price_id := p_price_id;
  if p_payment_link_id is not null then
    select l.price_id, l.metadata, l.active into v_row
    from payment_links l
    where l.payment_link_id = p_payment_link_id and l.store_id = v_account.store_id
      and l.mode = v_account.mode;
    code := case when not found then 'payment_link_not_found' when not v_row.active then 'link_inactive' end;
    if code is not null then
      return;
    end if;
    payment_link_id := p_payment_link_id;
    price_id := v_row.price_id;
    metadata := v_row.metadata;
  elsif p_session_id is not null then
    select c.price_id, c.amount_cents, c.metadata, c.buyer_email,
      c.status = 'OPEN' and c.expires_at > service_now() as is_open into v_row
    from checkout_sessions c
    where c.session_id = p_session_id and c.store_id = v_account.store_id and c.mode = v_account.mode;
    code := case when not found then 'session_not_found' when not v_row.is_open then 'session_closed' end;
    if code is not null then
      return;
    end if;
    session_id := p_session_id;
    price_id := v_row.price_id;
    amount_cents := v_row.amount_cents;
    metadata := v_row.metadata;
    buyer_email := v_row.buyer_email;
    if price_id is null then
      return;
    end if;
  end if;

  select p.amount_cents, p.interval, p.interval_count, p.networks, p.tokens, p.active into v_row
  from prices p
  where p.price_id = resolve_checkout.price_id and p.store_id = v_account.store_id
    and p.mode = v_account.mode;
  code := case when not found then 'price_not_found' when not v_row.active then 'price_inactive' end;
  if code is not null then
    return;
  end if;
  amount_cents := v_row.amount_cents;
  every_interval := v_row.interval;
  every_count := v_row.interval_count;
  networks := v_row.networks;
  tokens := v_row.tokens;
end
$$;

-- Whether an account's receipts of this month have reached its plan's ceiling (USD; absent means none).
create function is_volume_cap_reached(p_account_id text, p_cap_usd numeric)
returns boolean
language sql stable
as $$
  select p_cap_usd is not null and coalesce(sum(amount_micros), 0) >= p_cap_usd * 1000000
  from volume_entries
  where account_id = p_account_id
    and month = date_trunc('month', service_now() at time zone 'UTC')::date
$$;

-- Whether a caller holds as many open payments at an address as one may while over half of its amounts are held.
create function is_crowding(
  p_payment payments,
  p_tail_unit numeric,
  p_client_ip text,
  p_open_payments_per_ip integer
)
returns boolean
language plpgsql stable
as $$
declare
  c_half constant integer := 4500;
  v_lowest constant numeric := p_payment.price_base_units + p_tail_unit;
  v_highest constant numeric := p_payment.price_base_units + 9999 * p_tail_unit;
begin
  -- The caller's own are few, so they are looked at first, and mostly alone.
  if not exists (
    select from slots s
    where s.address = p_payment.address and s.client_ip = p_client_ip and s.is_open
      and s.token = p_payment.token and s.deployment = p_payment.deployment
      and s.amount_base_units between v_lowest and v_highest
    offset p_open_payments_per_ip - 1
  ) then
    return false;
  end if;
  return exists (
    select from slots s
    where s.address = p_payment.address and s.amount_base_units between v_lowest and v_highest
      and s.token = p_payment.token and s.deployment = p_payment.deployment
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
    if v_tried = '{}' and p_payment.mode = 'live'
      and is_volume_cap_reached(p_payment.account_id, p_volume_cap_usd) then
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
    elsif p_client_ip is not null and is_crowding(payment, v_tail_unit, p_client_ip, p_open_payments_per_ip) then
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
    -- Read after the slot is taken: a block at or below it cannot hold this buyer's transfer.
    (select d.block_number from deployments d where d.deployment = payment.deployment),
    payment.price_id, payment.payment_link_id, payment.session_id, payment.subscription_id, payment.reference_key,
    payment.metadata, payment.origin_host, payment.buyer_email, payment.created_at, payment.expires_at);
  if p_payment.session_id is not null then
    update checkout_sessions c set payment_id = p_payment.payment_id
    where c.session_id = p_payment.session_id;
  end if;
end
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

-- One checkout: the checks, then the claim. `code` is an error of the catalogue, or one of three answers for the
-- caller: `recurring` (open a subscription and pass its id), `pool_empty` (derive addresses for `xpub` and call
-- again) and `metadata_too_large`.
create function claim_checkout(
  p_key_hash bytea,
  p_origin_hosts text[],
  p_price_id text,
  p_payment_link_id text,
  p_session_id text,
  p_amount_cents bigint,
  -- What the caller knows already: payment id, network, token and the deployment's facts, origin host, metadata.
  p_payment payments,
  -- The networks table's own refusal of network or token, raised at its rank.
  p_network_code text,
  p_ttl_minutes integer,
  p_client_ip text,
  p_plan_caps jsonb,
  p_open_payments_per_ip integer,
  out code text,
  out store_id text,
  out account_id text,
  out price_id text,
  out amount_cents bigint,
  out address text,
  out amount_base_units numeric,
  out is_exclusive boolean,
  out created_at timestamptz,
  out expires_at timestamptz,
  out metadata jsonb,
  out buyer_email text,
  out branding jsonb,
  out every_interval text,
  out every_count integer,
  out xpub text,
  out xpub_left integer
)
language plpgsql
as $$
declare
  v_terms record;
  v_claim record;
  v_payment payments := p_payment;
begin
  -- Assigned, not selected from: that way the answer is not put into a table of one row first.
  v_terms := resolve_checkout(p_key_hash, p_origin_hosts, p_price_id, p_payment_link_id, p_session_id, p_amount_cents);
  metadata := case
    when v_terms.metadata is null then p_payment.metadata
    else coalesce(p_payment.metadata, '{}') || v_terms.metadata
  end;
  code := coalesce(v_terms.code, case
    when not p_payment.network = any (v_terms.networks) then 'network_not_accepted'
    when p_network_code is not null then p_network_code
    when not p_payment.token = any (v_terms.tokens) then 'token_not_accepted'
    when metadata is not null and not is_metadata_within_limits(metadata) then 'metadata_too_large'
    when v_terms.every_interval is not null and p_payment.subscription_id is null then 'recurring'
  end);
  if code is not null then
    return;
  end if;

  v_payment.store_id := v_terms.store_id;
  v_payment.account_id := v_terms.account_id;
  v_payment.mode := v_terms.mode;
  v_payment.amount_cents := v_terms.amount_cents;
  v_payment.price_id := v_terms.price_id;
  v_payment.payment_link_id := v_terms.payment_link_id;
  v_payment.session_id := v_terms.session_id;
  v_payment.metadata := metadata;
  v_payment.buyer_email := coalesce(v_terms.buyer_email, p_payment.buyer_email);
  v_claim := claim_slot(v_payment, p_ttl_minutes, p_client_ip,
    (p_plan_caps ->> v_terms.plan)::numeric, p_open_payments_per_ip);
  code := v_claim.code;
  xpub := v_claim.xpub;
  xpub_left := v_claim.xpub_left;
  v_payment := v_claim.payment;
  store_id := v_payment.store_id;
  account_id := v_payment.account_id;
  price_id := v_payment.price_id;
  amount_cents := v_payment.amount_cents;
  address := v_payment.address;
  amount_base_units := v_payment.amount_base_units;
  is_exclusive := v_payment.is_exclusive;
  created_at := v_payment.created_at;
  expires_at := v_payment.expires_at;
  buyer_email := v_payment.buyer_email;
  branding := v_terms.branding;
  every_interval := v_terms.every_interval;
  every_count := v_terms.every_count;
end
$$;

-- POST /checkout in one round trip: counts the request in a transaction of its own, so that counting never waits
-- for a claim's flush to disk, then claims. Over the limit the code is rate_limited.
create procedure begin_checkout(
  p_rate_key text,
  p_rate_limit integer,
  p_key_hash bytea,
  p_origin_hosts text[],
  p_price_id text,
  p_payment_link_id text,
  p_session_id text,
  p_amount_cents bigint,
  p_payment payments,
  p_network_code text,
  p_ttl_minutes integer,
  p_client_ip text,
  p_plan_caps jsonb,
  p_open_payments_per_ip integer,
  inout request_count integer default null,
  inout reset_seconds integer default null,
  inout code text default null,
  inout amount_cents bigint default null,
  inout address text default null,
  inout amount_base_units numeric default null,
  inout created_at timestamptz default null,
  inout expires_at timestamptz default null,
  inout branding jsonb default null,
  inout xpub text default null,
  inout xpub_left integer default null
)
language plpgsql
as $$
declare
  v_count record;
  v_claim record;
begin
  v_count := count_request(p_rate_key, 60);
  commit;
  request_count := v_count.request_count;
  reset_seconds := v_count.reset_seconds;
  if request_count > p_rate_limit then
    code := 'rate_limited';
    return;
  end if;
  v_claim := claim_checkout(p_key_hash, p_origin_hosts, p_price_id, p_payment_link_id, p_session_id, p_amount_cents,
    p_payment, p_network_code, p_ttl_minutes, p_client_ip, p_plan_caps, p_open_payments_per_ip);
  code := v_claim.code;
  amount_cents := v_claim.amount_cents;
  address := v_claim.address;
  amount_base_units := v_claim.amount_base_units;
  created_at := v_claim.created_at;
  expires_at := v_claim.expires_at;
  branding := v_claim.branding;
  xpub := v_claim.xpub;
  xpub_left := v_claim.xpub_left;
end
$$;
