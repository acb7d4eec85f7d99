-- Hosted pages sell what a payment link or a checkout session names, without a publishable key: the id in the page's
-- path is the capability, and revoking keys must not take a seller's links down. They call with no key, and with an
-- empty list of origin hosts, since the page is ours. All other checks are the same, in the same order.
create or replace function resolve_checkout(
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
