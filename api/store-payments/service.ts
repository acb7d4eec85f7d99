import { fail } from '#shared/errors.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { PaymentReading } from '#shared/payments/row.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { checkId } from '../fields.ts'
import { type List, readSlice, sliceToPage } from '../list.ts'
import { readPage } from '../pagination.ts'
import { transferView } from '../transfer-object.ts'
import { parseTime } from '../words.ts'
import { streamText } from './csv.ts'
import type { StorePaymentQuery, TraceObject } from './model.ts'
import {
  listPaymentRows,
  type PaymentFilter,
  type PaymentScope,
  readDeliveries,
  readHeldSlot,
  readMoves,
  readPaymentScanEnd,
  readPaymentTransfers,
  readStorePayment,
  readTracedTransfers,
} from './queries.ts'
import { CSV_HEADER, paymentCsvLine, storePaymentView, traceView } from './view.ts'

/** Payments held in memory at a time while a list is exported. */
const EXPORT_ROWS = 500

/** One page. Errors: invalid_request, mode_mismatch. */
export async function listPayments(deps: ApiDeps, caller: StoreCaller, query: StorePaymentQuery) {
  const { modes, list } = readList(deps, caller, query)
  const { limit: _limit, cursor: _cursor, ...asked } = query
  const scope = { what: 'payments', storeId: caller.storeId, ...asked, modes }
  const start = readPage(query, scope)
  const slice = await readSlice(list, modes, start)
  return sliceToPage(start, slice, (row) => storePaymentView(row, deps.view))
}

/**
 * The whole list as CSV, newest first, read and sent piece by piece: `limit` and `cursor` do not apply. Errors:
 * invalid_request, mode_mismatch.
 */
export function exportPayments(
  deps: ApiDeps,
  caller: StoreCaller,
  query: StorePaymentQuery,
): Response {
  const { modes, list } = readList(deps, caller, query)
  let before: string | undefined
  let isEnded = false
  let head = CSV_HEADER
  const readMore = async () => {
    while (!isEnded) {
      const { rows, next } = await readSlice(list, modes, { before, limit: EXPORT_ROWS })
      before = next
      isEnded = next === undefined
      const lines = rows.map((row) => paymentCsvLine(storePaymentView(row, deps.view)))
      const text = head + lines.join('')
      head = ''
      if (text !== '') return text
    }
    return undefined
  }
  const onError = (cause: unknown) => deps.log.error('an export broke off', { cause })
  return new Response(streamText(readMore, onError), {
    headers: {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': 'attachment; filename="payments.csv"',
      'Cache-Control': 'no-store',
    },
  })
}

/** A payment with the transfers attributed to it. Error: payment_not_found. */
export async function showStorePayment(
  deps: Pick<ApiDeps, 'db' | 'view'>,
  scope: PaymentScope,
  paymentId: string,
) {
  const payment = await findPayment(deps, scope, paymentId)
  const transfers = await readPaymentTransfers(deps.db, payment.paymentId)
  return { ...storePaymentView(payment, deps.view), transfers: transfers.map(transferView) }
}

/** Why a payment is where it is. Error: payment_not_found. */
export async function tracePayment(
  deps: Pick<ApiDeps, 'db'>,
  scope: PaymentScope,
  paymentId: string,
): Promise<TraceObject> {
  const payment = await findPayment(deps, scope, paymentId)
  const { storeId } = payment
  const [slot, transfers, moves, deliveries] = await Promise.all([
    readHeldSlot(deps.db, storeId, paymentId),
    readTracedTransfers(deps.db, storeId, paymentId),
    readMoves(deps.db, paymentId),
    readDeliveries(deps.db, storeId, paymentId),
  ])
  return traceView(payment, slot, transfers, moves, deliveries)
}

async function findPayment(
  deps: Pick<ApiDeps, 'db'>,
  scope: PaymentScope,
  paymentId: string,
): Promise<PaymentReading> {
  checkId('pay', paymentId, 'payment_not_found')
  return (await readStorePayment(deps.db, scope, paymentId)) ?? fail('payment_not_found')
}

function readList(
  deps: ApiDeps,
  caller: StoreCaller,
  query: StorePaymentQuery,
): { modes: readonly Mode[]; list: List<PaymentReading> } {
  const { storeId } = caller
  const { status, network, token, createdFrom, createdTo } = query
  const filter: PaymentFilter = {
    ...{ status, network, token },
    createdFrom: createdFrom === undefined ? undefined : parseTime(createdFrom, 'createdFrom'),
    createdTo: createdTo === undefined ? undefined : parseTime(createdTo, 'createdTo'),
  }
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const list: List<PaymentReading> = {
    read: (stretch) => listPaymentRows(deps.db, storeId, filter, stretch),
    idOf: (row) => row.paymentId,
    ...(isFiltered
      ? { readScanEnd: (stretch) => readPaymentScanEnd(deps.db, storeId, filter, stretch) }
      : {}),
  }
  return { modes: modesOf(caller, query.mode), list }
}
