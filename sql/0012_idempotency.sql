-- A row is a POST that its sender may repeat: under which name (a hash of the sender and the Idempotency-Key), what was
-- asked, and, once it is done, the answer, sealed, since it may hold a secret that is shown only once. While there is no
-- answer the process that runs it holds the claim; after claimed_until it is taken for dead.
create table idempotent_requests (
  name_hash bytea primary key,
  request_hash bytea not null,
  claim_id text not null,
  claimed_until timestamptz not null,
  answer bytea,
  created_at timestamptz not null default service_now()
);
create index idempotent_requests_created on idempotent_requests (created_at);
