-- Events of a store and mode, newest first, whether or not the relay has numbered them.
create index events_list on events (store_id, mode, order_key);

-- Dead deliveries are few among many, and what a seller looks for.
create index deliveries_dead on deliveries (store_id, mode, delivery_id) where dead_at is not null;
create index deliveries_list on deliveries (store_id, mode, delivery_id);
