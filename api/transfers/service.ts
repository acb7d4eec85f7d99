import { type Tx, withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { isTerminal } from '#shared/payments/machine.ts'
import { noticeCredits } from '#shared/payments/notice.ts'
import { lockPayments } from '#shared/payments/queries.ts'
import { announce } from '../announce.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { checkId } from '../fields.ts'
import { type List, readSlice, sliceToPage } from '../list.ts'
import { readPage } from '../pagination.ts'
import { type TransferRow, transferView } from '../transfer-object.ts'
import type { TransferQuery } from './model.ts'
import {
  attachToPayment,
  type LockedTransfer,
  listTransferRows,
  lockTransfer,
  readIsOwnPayment,
  readPosition,
  readTransfer,
  readTransferScanEnd,
  resolveListed,
  type TransferScope,
} from './queries.ts'

/** Errors: invalid_request, mode_mismatch. */
export async function listTransfers(deps: ApiDeps, caller: StoreCaller, query: TransferQuery) {
  const { storeId } = caller
  const { state } = query
  const modes = modesOf(caller, query.mode)
  const start = readPage(query, { what: 'transfers', storeId, modes, state })
  const list: List<TransferRow> = {
    read: (stretch) => listTransferRows(deps.db, storeId, state, stretch),
    readScanEnd: (stretch) => readTransferScanEnd(deps.db, storeId, state, stretch),
    idOf: (row) => row.transferId,
  }
  return sliceToPage(start, await readSlice(list, modes, start), transferView)
}

/**
 * Gives an unmatched transfer to an open payment of the same store, network and token. Depth still applies. A repeated
 * call is answered like the first. Errors: transfer_not_found, payment_not_found, token_not_accepted, not_open.
 */
export async function attachTransfer(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  transferId: string,
  paymentId: string,
) {
  checkId('trf', transferId, 'transfer_not_found')
  const scope = { storeId, mode }
  const { row, moved } = await withTransaction(deps.db, async (tx) => {
    if (!(await readTransfer(tx, { storeId, modes: [mode] }, transferId)))
      fail('transfer_not_found')
    if (!isId('pay', paymentId) || !(await readIsOwnPayment(tx, scope, paymentId))) {
      fail('payment_not_found', { param: 'paymentId' })
    }
    // The payment first and the transfer second, as everybody does who locks both.
    const locked = await lockPayments(tx, [paymentId])
    const transfer = await lockTransfer(tx, scope, transferId)
    if (transfer === undefined) fail('transfer_not_found')
    const isRepeated = transfer.state === 'MATCHED' && transfer.paymentId === paymentId
    const credited = isRepeated
      ? []
      : await credit(deps, tx, { storeId, transfer, paymentId, locked })
    return { row: await showListed(tx, { storeId, modes: [mode] }, transferId), moved: credited }
  })
  if (moved.length > 0) announce(deps, moved)
  return transferView(row)
}

type Attachment = {
  storeId: string
  transfer: LockedTransfer
  paymentId: string
  locked: Awaited<ReturnType<typeof lockPayments>>
}

/** Payment and transfer are locked. */
async function credit(
  deps: ApiDeps,
  tx: Tx,
  { storeId, transfer, paymentId, locked }: Attachment,
): Promise<string[]> {
  const payment = locked.get(paymentId) ?? fail('payment_not_found', { param: 'paymentId' })
  const { deployment, network, token, contract } = payment
  const isSameToken = transfer.token === token && transfer.contract === contract
  if (transfer.deployment !== deployment || !isSameToken) {
    fail('token_not_accepted', {
      message: `The payment waits for ${token} (${contract}) on ${network}. Attach another.`,
      param: 'paymentId',
    })
  }
  if (isTerminal(payment.status)) fail('not_open', { param: 'paymentId' })
  if (transfer.state === 'MATCHED') {
    fail('not_open', { message: 'This transfer belongs to a payment already, for ever.' })
  }
  await attachToPayment(tx, storeId, transfer.transferId, paymentId)
  const position = await readPosition(tx, payment.deployment)
  return noticeCredits(tx, locked, [paymentId], position, deps.door)
}

/** Takes an unmatched transfer off the list of what waits, with a note. Errors: transfer_not_found, not_open. */
export async function resolveTransfer(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  transferId: string,
  note: string,
) {
  checkId('trf', transferId, 'transfer_not_found')
  const row = await withTransaction(deps.db, async (tx) => {
    const transfer = await lockTransfer(tx, { storeId, mode }, transferId)
    if (transfer === undefined) fail('transfer_not_found')
    if (transfer.state === 'MATCHED') {
      fail('not_open', { message: 'This transfer belongs to a payment: nothing is to resolve.' })
    }
    await resolveListed(tx, storeId, transferId, note)
    return showListed(tx, { storeId, modes: [mode] }, transferId)
  })
  return transferView(row)
}

async function showListed(tx: Tx, scope: TransferScope, transferId: string): Promise<TransferRow> {
  return (await readTransfer(tx, scope, transferId)) ?? fail('transfer_not_found')
}
