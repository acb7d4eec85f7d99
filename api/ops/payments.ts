import { withTransaction } from '#shared/db.ts'
import { isId } from '#shared/ids.ts'
import { MODES } from '#shared/networks/names.ts'
import { announceEvents } from '#shared/wake.ts'
import { showStorePayment, tracePayment } from '../store-payments/service.ts'
import { renewDeliveries } from '../webhooks/redelivery.ts'
import {
  type Answer,
  type Arguments,
  type Command,
  LIMIT_OPTION,
  limitOf,
  type OpsDeps,
  oneWordOf,
  Refusal,
  UsageError,
} from './command.ts'
import {
  DELIVERY_STATUSES,
  findDelivery,
  findPaymentOwner,
  listStoreDeliveries,
  readHasEndpoint,
  readRedrivable,
} from './queries.ts'
import { findStore } from './stores.ts'

/** Deliveries made due in one transaction, which is far from the server's deadline of a statement. */
const REDRIVE_BATCH = 500
/** Deliveries that one command makes due; for more it says so, and is called again. */
const REDRIVE_COUNT_MAX = 500_000
/** What has an end that is no success, or none yet. */
const REDRIVABLE = ['DEAD', 'PENDING'] as const

export const paymentCommands: readonly Command[] = [
  {
    name: 'payment show',
    summary:
      'everything about a payment, with its transfers and the trace of why it is where it is',
    parameters: ['paymentId'],
    run: showPayment,
  },
  {
    name: 'delivery list',
    summary: 'deliveries of a store with their last attempt, newest first',
    parameters: ['storeId'],
    options: {
      status: { value: DELIVERY_STATUSES.join('|'), about: 'only these' },
      ...LIMIT_OPTION,
    },
    async run(deps, args) {
      const { storeId } = await findStore(deps, args.words[0])
      const status = oneWordOf(DELIVERY_STATUSES, args.options['status'], '--status')
      return { deliveries: await listStoreDeliveries(deps.db, storeId, status, limitOf(args)) }
    },
  },
  {
    name: 'delivery redrive',
    summary:
      'make a delivery, or all dead and pending ones of a store, due now for another 72 hours',
    parameters: ['deliveryId?'],
    options: {
      store: { value: 'storeId', about: 'all of this store’s' },
      status: { value: REDRIVABLE.join('|'), about: 'only these of the store’s' },
    },
    run: redrive,
  },
]

async function showPayment(deps: OpsDeps, args: Arguments): Promise<Answer> {
  const paymentId = args.words[0] ?? ''
  const owner = isId('pay', paymentId) ? await findPaymentOwner(deps.db, paymentId) : undefined
  if (!owner) throw new Refusal(`there is no payment ${paymentId}`)
  const scope = { storeId: owner.storeId, modes: MODES }
  const view = { publicUrl: deps.config.publicUrl, deployments: deps.config.deployments }
  const [payment, trace] = await Promise.all([
    showStorePayment({ db: deps.db, view }, scope, paymentId),
    tracePayment(deps, scope, paymentId),
  ])
  return { payment: { ...payment, accountId: owner.accountId }, trace }
}

async function redrive(deps: OpsDeps, args: Arguments): Promise<Answer> {
  const [deliveryId] = args.words
  const { store } = args.options
  if ((deliveryId === undefined) === (store === undefined)) {
    throw new UsageError('name either one delivery or --store')
  }
  const status = oneWordOf(REDRIVABLE, args.options['status'], '--status')
  if (deliveryId !== undefined) {
    if (status !== undefined) throw new UsageError('--status goes with --store')
    const { storeId } = await redriveOne(deps, deliveryId)
    return finish(deps, storeId, 1)
  }
  const { storeId } = await findStore(deps, store)
  const redrivenCount = await redriveAll(deps, storeId, status ? [status] : REDRIVABLE)
  return finish(deps, storeId, redrivenCount)
}

async function redriveOne({ db }: OpsDeps, deliveryId: string): Promise<{ storeId: string }> {
  const found = isId('dlv', deliveryId) ? await findDelivery(db, deliveryId) : undefined
  if (!found) throw new Refusal(`there is no delivery ${deliveryId}`)
  await withTransaction(db, (tx) =>
    renewDeliveries(tx, [{ deliveryId, place: 1 }], { placeCount: 1 }),
  )
  return found
}

async function redriveAll(
  { db, note }: OpsDeps,
  storeId: string,
  statuses: readonly (typeof REDRIVABLE)[number][],
): Promise<number> {
  let behind = ''
  for (let count = 0; ; ) {
    const ids = await withTransaction(db, async (tx) => {
      const next = await readRedrivable(tx, storeId, statuses, behind, REDRIVE_BATCH)
      const wanted = next.map((deliveryId, index) => ({ deliveryId, place: index + 1 }))
      await renewDeliveries(tx, wanted, { placeCount: wanted.length })
      return next
    })
    count += ids.length
    behind = ids.at(-1) ?? behind
    if (ids.length < REDRIVE_BATCH) return count
    if (count >= REDRIVE_COUNT_MAX) {
      note('There are more: call this again.')
      return count
    }
  }
}

async function finish(deps: OpsDeps, storeId: string, redrivenCount: number): Promise<Answer> {
  await announceEvents(deps.db)
  if (!(await readHasEndpoint(deps.db, storeId))) {
    deps.note('The store has no webhook URL: nothing is posted before it has one.')
  }
  return { storeId, redrivenCount }
}
