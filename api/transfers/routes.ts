import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { TransferObject } from '../transfer-object.ts'
import { AttachBody, ResolveBody, TransferQuery } from './model.ts'
import * as transfers from './service.ts'

export const listTransfers = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/transfers',
  auth: 'store',
  summary: 'List every transfer seen at the store’s addresses, matched or not, newest first',
  schemas: { query: TransferQuery },
  response: pageSchema(TransferObject),
  handle: (deps, { caller, query }) => transfers.listTransfers(deps, caller, query),
})

export const postTransferAttach = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/transfers/:transferId/attach',
  auth: 'store',
  summary: 'Give an unmatched transfer to an open payment',
  schemas: { body: AttachBody },
  response: TransferObject,
  fails: ['transfer_not_found', 'payment_not_found', 'token_not_accepted', 'not_open'],
  handle: (deps, { caller, params, body }) =>
    transfers.attachTransfer(deps, caller, params.transferId, body.paymentId),
})

export const postTransferResolve = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/transfers/:transferId/resolve',
  auth: 'store',
  summary: 'Note what was done about an unmatched transfer, and take it off what waits',
  schemas: { body: ResolveBody },
  response: TransferObject,
  fails: ['transfer_not_found', 'not_open'],
  handle: (deps, { caller, params, body }) =>
    transfers.resolveTransfer(deps, caller, params.transferId, body.note),
})
