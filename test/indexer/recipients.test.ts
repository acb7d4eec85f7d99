import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { readHeldAddresses, readIsOpen, readOpenAddresses } from '../../indexer/recipients.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const SLOTS_PER_ADDRESS = 2_000
/** Rows of an index that may be looked at for one address: to find it, and to see that it is there. */
const ROWS_PER_ADDRESS_MAX = 4

let database: TestDatabase

async function hold(address: string, deployment: string, isOpen: boolean, count = 1) {
  await database.db`
    insert into slots (address, amount_base_units, token, deployment, payment_id, store_id,
      price_base_units, is_exclusive, is_open, expires_at, ended_at, release_at)
    select ${address}, i, 'usdc', ${deployment}, gen_random_uuid()::text, 'store_1', i, false,
      ${isOpen}, service_now(), case when not ${isOpen} then service_now() end,
      case when not ${isOpen} then service_now() end
    from generate_series(1, ${count}::int) i`
}

/** Rows of `slots` and its indexes that were looked at so far. */
async function rowsRead(): Promise<number> {
  await database.db`select pg_stat_force_next_flush()`
  const [row] = await database.db<{ count: number }[]>`
    select (t.seq_tup_read + sum(i.idx_tup_read))::int as count
    from pg_stat_user_tables t
    join pg_stat_user_indexes i using (relid)
    where t.relname = 'slots'
    group by t.seq_tup_read`
  return row?.count ?? 0
}

describe('who waits on a deployment', () => {
  before(async () => {
    database = await createTestDatabase({ poolSizeMax: 1 })
    for (const address of ['A', 'C']) await hold(address, 'base:live', true, SLOTS_PER_ADDRESS)
    for (const address of ['B', 'D']) await hold(address, 'base:live', false, SLOTS_PER_ADDRESS)
    await hold('E', 'base:live', true)
    await hold('E', 'base:test', false)
    await database.db`vacuum analyze slots`
  })
  after(() => database.drop())

  it('is told apart by deployment, and by whether the payment is over', async () => {
    const { db } = database
    assert.deepEqual(await readOpenAddresses(db, 'base:live', 10), ['A', 'C', 'E'])
    assert.deepEqual(await readHeldAddresses(db, 'base:live', 10), ['A', 'B', 'C', 'D', 'E'])
    assert.deepEqual(await readOpenAddresses(db, 'base:test', 10), [])
    assert.deepEqual(await readHeldAddresses(db, 'base:test', 10), ['E'])
    assert.deepEqual(await readHeldAddresses(db, 'bnb:live', 10), [])
    assert.equal(await readIsOpen(db, 'base:live'), true)
    assert.equal(await readIsOpen(db, 'base:test'), false)
  })

  it('is told up to a limit', async () => {
    const { db } = database
    assert.deepEqual(await readOpenAddresses(db, 'base:live', 2), ['A', 'C'])
    assert.equal((await readHeldAddresses(db, 'base:live', 4)).length, 4)
  })

  it('is found without looking through the slots of each address', async () => {
    const { db } = database
    const before = await rowsRead()
    const found = await readHeldAddresses(db, 'base:live', 100)
    const count = (await rowsRead()) - before
    assert.ok(count > 0 && count <= found.length * ROWS_PER_ADDRESS_MAX, `${count} rows`)
  })
})
