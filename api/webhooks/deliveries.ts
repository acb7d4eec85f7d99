import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { isId, newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { type List, readSlice, sliceToPage } from '../list.ts'
import { readPage } from '../pagination.ts'
import { parseTime } from '../words.ts'
import { type DeliveriesQuery, deliveryView, type ReplayBody } from './model.ts'
import {
  type DeliveryRow,
  listDeliveries,
  readAttempts,
  readDelivery,
  readDeliveryScanEnd,
  readWebhookUrl,
} from './queries.ts'
import { insertLateDeliveries, readPastEvents, renewDeliveries } from './redelivery.ts'
import { requireUrl, rouseRelay } from './service.ts'

/** Events of one replay: what one statement does within its deadline. */
const REPLAY_MAX = 5_000

/** Deliveries with their attempts. Error: mode_mismatch. */
export async function showDeliveries(deps: ApiDeps, caller: StoreCaller, query: DeliveriesQuery) {
  const modes = modesOf(caller, query.mode)
  const { storeId } = caller
  const { status, eventType, paymentId } = query
  const page = readPage(query, { list: 'deliveries', storeId, modes, status, eventType, paymentId })
  const list: List<DeliveryRow> = {
    read: (stretch) => listDeliveries(deps.db, storeId, query, stretch),
    readScanEnd: (stretch) => readDeliveryScanEnd(deps.db, storeId, query, stretch),
    idOf: (row) => row.deliveryId,
  }
  const slice = await readSlice(list, modes, page)
  const [attempts, url] = await Promise.all([
    readAttempts(
      deps.db,
      slice.rows.map(({ deliveryId }) => deliveryId),
    ),
    readWebhookUrl(deps.db, storeId),
  ])
  return sliceToPage(page, slice, (row) => deliveryView(row, attempts.get(row.deliveryId), url))
}

/** A delivery with its attempts. Error: delivery_not_found. */
export function showDelivery(deps: ApiDeps, { storeId, modes }: StoreCaller, deliveryId: string) {
  return readOne(deps, storeId, modes, deliveryId)
}

/** Sends a delivery again, whatever became of it. Errors: delivery_not_found, invalid_request (no webhook). */
export async function resendDelivery(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  deliveryId: string,
) {
  await readOne(deps, storeId, [mode], deliveryId)
  requireUrl(await readWebhookUrl(deps.db, storeId))
  await withTransaction(deps.db, (tx) =>
    renewDeliveries(tx, [{ deliveryId, place: 1 }], { placeCount: 1 }),
  )
  rouseRelay(deps)
  return readOne(deps, storeId, [mode], deliveryId)
}

/**
 * Delivers the events of the caller's mode from `from` until before `to` again, in their order and under their ids.
 * Error: invalid_request (times, too many events, no webhook).
 */
export async function replayEvents(
  deps: ApiDeps,
  caller: StoreCaller,
  body: ReplayBody,
): Promise<{ replayedCount: number }> {
  const range = {
    from: parseTime(body.from, 'from'),
    to: parseTime(body.to, 'to'),
    types: body.types,
  }
  if (range.from >= range.to) {
    fail('invalid_request', { message: 'This should be later than from.', param: 'to' })
  }
  const url = requireUrl(await readWebhookUrl(deps.db, caller.storeId))
  const replayedCount = await withTransaction(deps.db, async (tx) => {
    const events = await readPastEvents(tx, caller, range, REPLAY_MAX + 1)
    if (events.length > REPLAY_MAX) {
      fail('invalid_request', {
        message: `At most ${REPLAY_MAX} events are replayed at a time. Choose a shorter range.`,
        param: 'to',
      })
    }
    const order = { placeCount: events.length }
    const again = events.flatMap(({ deliveryId, place }) =>
      deliveryId === null ? [] : [{ deliveryId, place }],
    )
    const owed = events.flatMap(({ eventId, deliveryId, place }) =>
      deliveryId === null ? [{ deliveryId: newId('dlv'), eventId, place }] : [],
    )
    await renewDeliveries(tx, again, order)
    await insertLateDeliveries(tx, url, owed, order)
    return events.length
  })
  rouseRelay(deps)
  return { replayedCount }
}

async function readOne(deps: ApiDeps, storeId: string, modes: readonly Mode[], deliveryId: string) {
  const row = isId('dlv', deliveryId)
    ? await readDelivery(deps.db, storeId, modes, deliveryId)
    : undefined
  if (row === undefined) fail('delivery_not_found')
  const [attempts, url] = await Promise.all([
    readAttempts(deps.db, [deliveryId]),
    readWebhookUrl(deps.db, storeId),
  ])
  return deliveryView(row, attempts.get(deliveryId), url)
}
