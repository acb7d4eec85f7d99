import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { PostWalletBody, WalletObject, WalletsQuery } from './model.ts'
import { addWallet, dropWallet, showWallets } from './service.ts'

export const getWallets = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/wallets',
  auth: 'store',
  summary: 'List the receiving wallets',
  schemas: { query: WalletsQuery },
  response: pageSchema(WalletObject),
  handle: (deps, { caller, query }) => showWallets(deps, caller, query),
})

export const postWallets = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/wallets',
  auth: 'store',
  summary: 'Add a receiving wallet: an address, or on EVM networks an extended public key',
  status: 201,
  schemas: { body: PostWalletBody },
  response: WalletObject,
  fails: ['wallet_exists'],
  handle: (deps, { caller, body }) => addWallet(deps, caller, body),
})

export const deleteWallet = endpoint({
  method: 'DELETE',
  path: '/v1/stores/:storeId/wallets/:walletId',
  auth: 'store',
  summary: 'Remove a wallet: it takes no new payments, open ones still settle',
  status: 204,
  fails: ['wallet_not_found'],
  handle: (deps, { caller, params }) => dropWallet(deps, caller, params.walletId),
})
