-- A store's origins, newest first. Two of one moment stand in the order of their hash, since a host is no id.
create index origins_list on origins (store_id, created_at, md5(host));
