-- What a deployment tells about how it is followed: the block its chain begins with (a chain that begins otherwise is
-- another one, as a local node restarted without its state is), how fast it catches up while it is far behind, and how often
-- two readings of the same blocks differed.
alter table deployments
  add column genesis_hash text,
  add column blocks_per_second double precision,
  add column disagreement_count bigint not null default 0,
  add column disagreed_at timestamptz;

-- A row is a token contract that a deployment is, or was, followed for: payments name the one they were made for, and are paid
-- in nothing else, whatever the operator's table names by now.
create table token_contracts (
  deployment text not null references deployments,
  contract text not null,
  token text not null,
  decimals integer not null,
  -- Since when the table names it no more.
  retired_at timestamptz,
  primary key (deployment, contract)
);

-- Held transfers are few, and looked at again and again.
create index transfers_held on transfers (deployment, block_number) where is_held;

-- What a seller attached follows its transaction to another block.
create index transfers_attached on transfers (deployment, transfer_id)
  where state = 'RETRACTED' and rule = 'attached';

-- A follower looks up the recipients of all transfers there are, nearly all of them strangers: in lower case, since making
-- the checksum of an EVM address takes longer than everything else about a transfer.
create index wallets_address_key on wallets (lower(address)) where address is not null;
create index xpub_addresses_key on xpub_addresses (lower(address));

-- Who waits on a deployment is asked every second, and a deployment where nobody does must not look through the others' slots.
create index slots_open on slots (deployment, address) where is_open;
-- Whom money may still be meant for is asked from one address to the next: those whose payments ended, too.
create index slots_ended on slots (deployment, address) where not is_open;

-- Whose an xpub's address is: asked of every transfer to one.
create index wallets_xpub on wallets (xpub) where xpub is not null;
