import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { createLog, silentLog } from '#shared/log.ts'
import { expirePayments, releaseSlots } from '../../dispatcher/expire.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_DOOR } from '../support/door.ts'
import { randomEvmAddress } from '../support/seed.ts'
import { type Shop, seedShop } from './support.ts'

type Options = {
  clock?: 'CHAIN' | 'OURS'
  status?: 'PENDING' | 'DETECTED'
  deployment?: string
  /** SQL interval from now; negative is past. */
  expiresIn?: string
}

describe('closing payment windows', () => {
  let database: TestDatabase
  let shop: Shop
  before(
    async () => {
      database = await createTestDatabase()
      shop = await seedShop(database.db, null)
    },
    { timeout: 60_000 },
  )
  after(() => database.drop())

  const openPayment = async (options: Options = {}, owner = shop): Promise<string> => {
    const { clock = 'OURS', status = 'PENDING', deployment = 'base:test' } = options
    const expiresIn = options.expiresIn ?? '-1 second'
    const paymentId = newId('pay')
    const address = randomEvmAddress()
    await database.db`
      insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals,
        address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units,
        status, created_at, expires_at)
      values (${paymentId}, ${owner.storeId}, ${owner.accountId}, 'test', 'base', 'usdc', ${deployment}, '0xc0', 6,
        ${address}, false, ${clock}, 12, 1000, 10000000, 10000000,
        ${status}, service_now() - interval '1 hour', service_now() + ${expiresIn}::interval)`
    await database.db`
      insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
        is_exclusive, expires_at)
      select address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
        is_exclusive, expires_at
      from payments where payment_id = ${paymentId}`
    return paymentId
  }
  const expire = (log = silentLog) => expirePayments({ db: database.db, door: TEST_DOOR, log })
  const statusOf = async (paymentId: string) => {
    const [row] = await database.db<{ status: string }[]>`
      select status from payments where payment_id = ${paymentId}`
    return row?.status
  }
  const audit = (deployment: string, expression: string) => database.db`
    insert into deployments (deployment, confirmations, audited_number, audited_time, block_time)
    values (${deployment}, 12, 1, service_now() + ${expression}::interval, service_now() + interval '1 day')
    on conflict (deployment) do update set audited_time = excluded.audited_time`
  const credit = (paymentId: string, isFinal: boolean, isHeld = false) => database.db`
    insert into transfers (transfer_id, deployment, network, mode, block_hash, tx_hash, log_index, block_number,
      block_time, token, contract, decimals, sender, address, amount_base_units, state, payment_id, rule, is_final, is_held)
    select ${newId('trf')}, deployment, network, mode, ${newId('req')}, '0x1', 0, 1, service_now(), token, contract,
      decimals, '0x2', address, 2000000, 'MATCHED', payment_id, 'exact', ${isFinal}, ${isHeld}
    from payments where payment_id = ${paymentId}`

  test('PENDING past its window, by our clock: EXPIRED, with one event and its slot in quarantine', async () => {
    const paymentId = await openPayment()
    assert.equal(await expire(), 1)
    assert.equal(await statusOf(paymentId), 'EXPIRED')
    const events = await database.db`select event_id from events where payment_id = ${paymentId}`
    assert.deepEqual(
      events.map((row) => row['eventId']),
      [`${paymentId}:payment.expired`],
    )
    const [slot] = await database.db`
      select is_open, release_at - ended_at = interval '24 hours' as is_a_day
      from slots where payment_id = ${paymentId}`
    assert.deepEqual({ ...slot }, { isOpen: false, isADay: true })
  })

  test('a slot and its xpub’s address rest for as long as the operator says', async () => {
    const { db } = database
    const paymentId = await openPayment()
    await db`insert into xpubs (xpub) values ('xpub')`
    await db`
      insert into xpub_addresses (xpub, address_index, address, free_at, payment_id)
      select 'xpub', 0, address, 'infinity', payment_id from payments where payment_id = ${paymentId}`
    await db`update payments set is_exclusive = true where payment_id = ${paymentId}`
    await expirePayments({ db, door: { ...TEST_DOOR, quarantineHours: 2 }, log: silentLog })
    const [row] = await db`
      select s.release_at - s.ended_at = interval '2 hours' as slot, x.free_at = s.release_at as address
      from slots s join xpub_addresses x using (payment_id) where payment_id = ${paymentId}`
    assert.deepEqual({ ...row }, { slot: true, address: true })
  })

  test('a window that is still open is left alone', async () => {
    const paymentId = await openPayment({ expiresIn: '1 minute' })
    assert.equal(await expire(), 0)
    assert.equal(await statusOf(paymentId), 'PENDING')
  })

  test('by the chain’s clock it waits until the position read twice is past the window', async () => {
    const deployment = 'arbitrum:test'
    const paymentId = await openPayment({ clock: 'CHAIN', deployment, expiresIn: '-10 minutes' })
    assert.equal(await expire(), 0, 'no indexer at all')
    await audit(deployment, '-11 minutes')
    assert.equal(await expire(), 0, 'behind, although the head is ahead')
    await database.db`
      update deployments
      set audited_time = (select expires_at from payments where payment_id = ${paymentId})
      where deployment = ${deployment}`
    assert.equal(await expire(), 0, 'a block at the last moment still counts')
    await audit(deployment, '-9 minutes')
    assert.equal(await expire(), 1)
    assert.equal(await statusOf(paymentId), 'EXPIRED')
  })

  test('our own clock must have passed too, however far the chain’s is ahead', async () => {
    const deployment = 'optimism:test'
    await audit(deployment, '1 hour')
    await openPayment({ clock: 'CHAIN', deployment, expiresIn: '1 minute' })
    assert.equal(await expire(), 0)
  })

  test('DETECTED waits for its depth, window or not', async () => {
    const paymentId = await openPayment({ status: 'DETECTED' })
    await credit(paymentId, false)
    assert.equal(await expire(), 0)
    assert.equal(await statusOf(paymentId), 'DETECTED')
  })

  test('waiting for a top-up ends UNDERPAID once all of it is at depth and none in doubt', async () => {
    const topUp = await seedShop(database.db, null)
    await database.db`
      update stores set top_up_until_expiry = true where store_id = ${topUp.storeId}`
    const onItsWay = await openPayment({ status: 'DETECTED' }, topUp)
    await credit(onItsWay, false)
    const inDoubt = await openPayment({ status: 'DETECTED' }, topUp)
    await credit(inDoubt, true, true)
    const atDepth = await openPayment({ status: 'DETECTED' }, topUp)
    await credit(atDepth, true)
    assert.equal(await expire(), 1)
    assert.equal(await statusOf(atDepth), 'UNDERPAID')
    assert.equal(await statusOf(onItsWay), 'DETECTED')
    assert.equal(await statusOf(inDoubt), 'DETECTED')
  })

  test('one that waited for a top-up ends UNDERPAID when its store waits for none any more', async () => {
    const paymentId = await openPayment({ status: 'DETECTED' })
    await credit(paymentId, true)
    assert.equal(await expire(), 1)
    assert.equal(await statusOf(paymentId), 'UNDERPAID')
  })

  test('one that cannot be closed is told, and holds up nobody', async () => {
    const broken = await openPayment({ expiresIn: '-1 hour' })
    await database.db.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$;
      create trigger refuse before insert on events for each row
      when (new.payment_id = '${broken}') execute function refuse();`)
    const fine = [await openPayment(), await openPayment()]
    const lines: string[] = []
    const log = createLog({
      ...{ level: 'error', format: 'json', name: 'dispatcher' },
      write: (line) => lines.push(line),
    })
    assert.equal(await expire(log), 2)
    assert.equal(await statusOf(broken), 'PENDING')
    for (const paymentId of fine) assert.equal(await statusOf(paymentId), 'EXPIRED')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).message),
      ['a payment’s window cannot be closed'],
    )
    await database.db`drop trigger refuse on events`
    assert.equal(await expire(), 1, 'and it ends once nothing hinders it')
  })

  test('several dispatchers at once expire each payment once', { timeout: 30_000 }, async () => {
    const ids: string[] = []
    for (let count = 0; count < 250; count += 1) ids.push(await openPayment())
    let moved = 0
    for (let round = 0; round < 10; round += 1) {
      const counts = await Promise.all([1, 2, 3].map(() => expire()))
      moved += counts.reduce((sum, count) => sum + count, 0)
    }
    assert.equal(moved, 250)
    const [counts] = await database.db<{ moves: number; events: number }[]>`
      select (select count(*)::integer from payment_moves where payment_id = any (${ids})) as moves,
        (select count(*)::integer from events where payment_id = any (${ids})) as events`
    assert.deepEqual({ ...counts }, { moves: 250, events: 250 })
  })

  test('a slot is released when its quarantine is over, not before', async () => {
    const paymentId = await openPayment()
    await expire()
    const isHeld = async () =>
      (await database.db`select from slots where payment_id = ${paymentId}`).length === 1
    await releaseSlots(database.db)
    assert.ok(await isHeld())
    await database.db`
      update slots set release_at = service_now() where payment_id = ${paymentId}`
    assert.equal(await releaseSlots(database.db), 1)
    assert.ok(!(await isHeld()))
  })

  test('a slot on a chain is held until the chain was read past its release', async () => {
    const paymentId = await openPayment({ clock: 'CHAIN', deployment: 'slow:test' })
    await audit('slow:test', '1 second')
    await expire()
    await database.db`
      update slots set release_at = service_now() - interval '1 hour' where payment_id = ${paymentId}`
    await audit('slow:test', '-2 hours')
    assert.equal(await releaseSlots(database.db), 0, 'the chain is behind')
    await audit('slow:test', '-30 minutes')
    assert.equal(await releaseSlots(database.db), 1)
  })
})
