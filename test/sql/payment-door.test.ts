import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { lockPayments } from '#shared/payments/queries.ts'
import { movePayment, movePayments, type PaymentCause } from '#shared/payments/transition.ts'
import { newRenewToken } from '#shared/subscriptions/renew-token.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_DOOR, TEST_KEYRING } from '../support/door.ts'
import { randomEvmAddress, type SeededStore, seedStore, seedWallet } from '../support/seed.ts'

/** What the one door writes for many payments at once is what it writes for them one by one. */
const CENTS = 1_000
const DUE = 10_000_003n
const KINDS = [
  'exactAtDepth',
  'moreAtDepth',
  'lessAtDepth',
  'windowClosed',
  'transferSeen',
  'retracted',
  'canceled',
] as const

let database: TestDatabase
before(async () => {
  database = await createTestDatabase()
})
after(() => database.drop())

type Scene = { seller: SeededStore; paymentIds: string[]; transferIds: string[] }

/** One payment of each kind, live, with two transfers each, two of them of one session; the same in each scene. */
async function stage(): Promise<Scene> {
  const { db } = database
  const seller = await seedStore(db, { wallets: [] })
  const { storeId } = seller.store
  const { accountId } = seller.account
  const sessionId = newId('cs')
  await db`
    insert into checkout_sessions (session_id, store_id, mode, price_id, amount_cents, status, expires_at)
    values (${sessionId}, ${storeId}, 'live', null, ${CENTS}, 'OPEN', service_now() + interval '1 hour')`
  const paymentIds: string[] = []
  const transferIds: string[] = []
  for (const [index, kind] of KINDS.entries()) {
    const address = randomEvmAddress()
    await seedWallet(db, storeId, { network: 'base', mode: 'live', address })
    const paymentId = newId('pay')
    paymentIds.push(paymentId)
    const isPending = kind === 'windowClosed' || kind === 'transferSeen' || kind === 'canceled'
    await db`
      insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract,
        decimals, address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units,
        amount_base_units, status, session_id, origin_host, expires_at)
      values (${paymentId}, ${storeId}, ${accountId}, 'live', 'base', 'usdc', 'base:live', '0xc', 6, ${address},
        false, 'CHAIN', 3, ${CENTS}, 10000000, ${DUE}, ${isPending ? 'PENDING' : 'DETECTED'},
        ${index < 2 ? sessionId : null}, 'shop.example', service_now() + interval '1 hour')`
    await db`
      insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
        is_exclusive, expires_at)
      select address, amount_base_units, token, deployment, payment_id, store_id, price_base_units, false, expires_at
      from payments where payment_id = ${paymentId}`
    for (const logIndex of [0, 1]) {
      const transferId = newId('trf')
      transferIds.push(transferId)
      await db`
        insert into transfers (transfer_id, deployment, network, mode, block_hash, tx_hash, log_index,
          block_number, block_time, token, contract, decimals, sender, address, amount_base_units, state,
          payment_id, rule)
        values (${transferId}, 'base:live', 'base', 'live', ${paymentId}, ${transferId}, ${logIndex}, 5,
          service_now(), 'usdc', '0xc', 6, '0xf', ${address}, ${DUE}, 'MATCHED', ${paymentId}, 'exact')`
    }
  }
  return { seller, paymentIds, transferIds }
}

/** The causes of a scene: the first transfer of each payment decided. */
async function move(scene: Scene, isTogether: boolean): Promise<void> {
  await withTransaction(database.db, async (tx) => {
    const locked = await lockPayments(tx, scene.paymentIds)
    const causes = KINDS.flatMap((trigger, index): PaymentCause[] => {
      const payment = locked.get(scene.paymentIds[index] ?? '')
      const counted = scene.transferIds[2 * index] ?? ''
      if (!payment) return []
      const facts = {
        ...{ txHash: `0x${index}`, blockNumber: 5, receivedBaseUnits: DUE * BigInt(index) },
        ...{ countedTransferIds: [counted], position: 9 },
      }
      return [{ payment, trigger, facts }]
    })
    assert.equal(causes.length, KINDS.length)
    if (isTogether) {
      assert.equal((await movePayments(tx, causes, TEST_DOOR)).size, KINDS.length)
      return
    }
    for (const { payment, trigger, facts } of causes) {
      assert.ok(await movePayment(tx, payment, trigger, facts, TEST_DOOR))
    }
  })
}

/** Everything the door writes about a scene, without ids and times. */
async function tell({ seller, paymentIds, transferIds }: Scene): Promise<string> {
  const { db } = database
  const { storeId } = seller.store
  const rows = {
    payments: await db`
      select status, tx_hash, block_number, received_base_units::text, detected_at is null as undetected,
        settled_at is null as unsettled
      from payments where payment_id = any (${paymentIds}) order by array_position(${paymentIds}::text[], payment_id::text)`,
    moves: await db`
      select from_status, to_status, trigger
      from payment_moves where payment_id = any (${paymentIds}) order by array_position(${paymentIds}::text[], payment_id::text)`,
    events: await db`
      select type, body::jsonb -> 'data' -> 'status' as status, body::jsonb -> 'data' -> 'confirmations' as confirmations
      from events where store_id = ${storeId} order by order_key`,
    slots: await db`
      select is_open, ended_at is null as unended, release_at is null as kept
      from slots where payment_id = any (${paymentIds}) order by array_position(${paymentIds}::text[], payment_id::text)`,
    transfers: await db`
      select state, reason, rule, is_final, payment_id is null as unowned, candidates = '[]' as uncertain
      from transfers where transfer_id = any (${transferIds}) order by array_position(${transferIds}::text[], transfer_id::text)`,
    inbox: await db`
      select i.state, t.reason
      from inbox i join transfers t using (transfer_id)
      where i.store_id = ${storeId} order by array_position(${transferIds}::text[], transfer_id::text)`,
    volume: await db`
      select amount_micros::text from volume_entries where payment_id = any (${paymentIds}) order by array_position(${paymentIds}::text[], payment_id::text)`,
    session: await db`
      select s.status, s.payment_id = ${paymentIds[0] ?? ''} as by_first
      from checkout_sessions s where s.store_id = ${storeId}`,
    origins: await db`
      select host, first_confirmed_at is null as unconfirmed from origins where store_id = ${storeId}`,
  }
  return JSON.stringify(rows, null, 1)
}

it('many payments move together as they move one by one', async () => {
  const together = await stage()
  await move(together, true)
  const alone = await stage()
  await move(alone, false)
  const told = await tell(together)
  assert.equal(told, await tell(alone))
  for (const word of [
    'CONFIRMED',
    'OVERPAID',
    'UNDERPAID',
    'EXPIRED',
    'CANCELED',
    'LATE',
    'DUST',
  ]) {
    assert.match(told, new RegExp(`"${word}"`))
  }
  assert.match(told, /"status": "COMPLETED",\s+"byFirst": true/)
})

it('volume is what credited live payments received, to a millionth of a dollar, whatever their decimals; test ones count nothing', async () => {
  const { db } = database
  const received = {
    exactAtDepth: 10_000_003n,
    moreAtDepth: 12_345_678_999_999_999_999n,
    lessAtDepth: 2_000_001n,
  } as const
  for (const mode of ['live', 'test']) {
    const { seller, paymentIds } = await stage()
    await db`
      update payments set mode = ${mode}, decimals = case payment_id when ${paymentIds[1] ?? ''} then 18 else 6 end
      where payment_id = any (${paymentIds})`
    await withTransaction(db, async (tx) => {
      const locked = await lockPayments(tx, paymentIds)
      const causes = KINDS.flatMap((trigger, index): PaymentCause[] => {
        const payment = locked.get(paymentIds[index] ?? '')
        const receivedBaseUnits = { ...received, canceled: 1n, windowClosed: 1n }[
          trigger as 'canceled'
        ]
        return payment && receivedBaseUnits
          ? [{ payment, trigger, facts: { receivedBaseUnits } }]
          : []
      })
      assert.equal((await movePayments(tx, causes, TEST_DOOR)).size, 5)
    })
    const entries = await db`
      select array_position(${paymentIds}::text[], payment_id::text) as place, amount_micros,
        month = date_trunc('month', service_now() at time zone 'UTC')::date as is_this_month
      from volume_entries where account_id = ${seller.account.accountId} order by place`
    assert.deepEqual(
      entries.map((row) => Object.values(row)),
      mode === 'test'
        ? []
        : [
            [1, 10_000_003n, true],
            [2, 12_345_678n, true],
            [3, 2_000_001n, true],
          ],
    )
  }
})

it('a session is completed and an origin put up for review by what is paid in full alone, and no origin by a test payment', async () => {
  const { db } = database
  const settle = async (mode: 'live' | 'test', triggers: readonly PaymentCause['trigger'][]) => {
    const { seller, paymentIds } = await stage()
    const { storeId } = seller.store
    await db`
      update payments p set mode = ${mode}, session_id = s.session_id
      from checkout_sessions s where s.store_id = ${storeId} and p.store_id = ${storeId}`
    await withTransaction(db, async (tx) => {
      const locked = await lockPayments(tx, paymentIds)
      const causes = triggers.flatMap((trigger): PaymentCause[] => {
        const payment = locked.get(paymentIds[KINDS.indexOf(trigger as 'canceled')] ?? '')
        return payment ? [{ payment, trigger, facts: {} }] : []
      })
      assert.equal((await movePayments(tx, causes, TEST_DOOR)).size, triggers.length)
    })
    const [row] = await db`
      select status, (select count(*)::integer from origins where store_id = ${storeId}) as origins
      from checkout_sessions where store_id = ${storeId}`
    return Object.values(row ?? {})
  }
  const unpaid = ['lessAtDepth', 'windowClosed', 'transferSeen', 'retracted', 'canceled'] as const
  assert.deepEqual(await settle('live', unpaid), ['OPEN', 0])
  assert.deepEqual(await settle('live', ['moreAtDepth']), ['COMPLETED', 1])
  assert.deepEqual(await settle('test', ['exactAtDepth']), ['COMPLETED', 0])
})

it('payments of one subscription that end in one batch: one paid is enough to begin it, and each paid one pays a period', async () => {
  const { db } = database
  const { store, account, price } = await seedStore(db, { wallets: [] })
  const subscriptionId = newId('sub')
  const token = newRenewToken(TEST_KEYRING, subscriptionId)
  await db`
    insert into subscriptions (subscription_id, store_id, account_id, mode, price_id, network, token, amount_cents,
      interval, interval_count, renew_token_hash, renew_token_ciphertext)
    values (${subscriptionId}, ${store.storeId}, ${account.accountId}, 'live', ${price.priceId}, 'base', 'usdc',
      ${CENTS}, 'YEAR', 1, ${token.hash}, ${token.ciphertext})`
  /** Ends payments of the subscription together, in this order. */
  const end = async (triggers: readonly (typeof KINDS)[number][]) => {
    const { paymentIds } = await stage()
    const ids = triggers.map((trigger) => paymentIds[KINDS.indexOf(trigger)] ?? '')
    await db`
      update payments set subscription_id = ${subscriptionId} where payment_id = any (${ids})`
    await withTransaction(db, async (tx) => {
      const locked = await lockPayments(tx, ids)
      const causes = triggers.flatMap((trigger, index): PaymentCause[] => {
        const payment = locked.get(ids[index] ?? '')
        return payment ? [{ payment, trigger, facts: {} }] : []
      })
      assert.equal((await movePayments(tx, causes, TEST_DOOR)).size, triggers.length)
    })
    const [row] = await db`
      select status, period_count from subscriptions where subscription_id = ${subscriptionId}`
    const events = await db<{ type: string }[]>`
      select type from events
      where subscription_id = ${subscriptionId} and type like 'subscription.%' order by order_key`
    return [row?.['status'], row?.['periodCount'], ...events.map(({ type }) => type)]
  }
  const begun = await end(['windowClosed', 'lessAtDepth', 'exactAtDepth', 'canceled'])
  assert.deepEqual(begun, ['ACTIVE', 1, 'subscription.activated'])
  assert.deepEqual(await end(['moreAtDepth', 'exactAtDepth', 'lessAtDepth']), [
    ...['ACTIVE', 3],
    ...['subscription.activated', 'subscription.renewed', 'subscription.renewed'],
  ])
})

it('a payment named twice in a batch moves not at all', async () => {
  const { paymentIds } = await stage()
  const [paymentId = ''] = paymentIds
  const twice = withTransaction(database.db, async (tx) => {
    const payment = (await lockPayments(tx, [paymentId])).get(paymentId)
    assert.ok(payment)
    const cause: PaymentCause = { payment, trigger: 'exactAtDepth', facts: {} }
    await movePayments(tx, [cause, cause], TEST_DOOR)
  })
  await assert.rejects(twice, /moves once in a batch/)
  const [row] = await database.db<{ status: string }[]>`
    select status from payments where payment_id = ${paymentId}`
  assert.equal(row?.status, 'DETECTED')
})
