-- Due deliveries are looked for store by store (deliveries_waiting), so that a store with a million of them costs no more
-- than one with ten. An index over all stores' would only invite plans that walk through the million.
drop index deliveries_due;
