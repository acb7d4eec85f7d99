-- Lists are read per mode, newest first, so that a store's few test objects are found at once behind a million live ones.
create index payments_list on payments (store_id, mode, payment_id);
drop index payments_store;
create index products_list on products (store_id, mode, product_id);
drop index products_store;
create index prices_list on prices (store_id, mode, price_id);
drop index prices_store;
create index payment_links_list on payment_links (store_id, mode, payment_link_id);
drop index payment_links_store;
create index subscriptions_list on subscriptions (store_id, mode, subscription_id);
drop index subscriptions_store;

-- An inbox is listed by mode too, and what waits for the seller is found without passing all that was matched.
alter table inbox add column mode text check (mode in ('test', 'live'));
update inbox i set mode = t.mode from transfers t where t.transfer_id = i.transfer_id;
alter table inbox alter column mode set not null;
create index inbox_list on inbox (store_id, mode, transfer_id);
create index inbox_waiting on inbox (store_id, mode, state, transfer_id) where state <> 'MATCHED';

-- The trace of a payment names the transfers that may have been meant for it.
create index transfers_candidates on transfers using gin (candidates jsonb_path_ops)
  where candidates <> '[]';
