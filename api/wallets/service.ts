import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { isId, newId } from '#shared/ids.ts'
import { deploymentName, type Mode } from '#shared/networks/registry.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { refuseMoreWallets } from '../limits.ts'
import { readPage, toPage } from '../pagination.ts'
import { LAST_ID } from '../words.ts'
import { extendPool } from '../xpub-pool.ts'
import { type PostWalletBody, walletView } from './model.ts'
import { insertWallet, insertXpub, listWallets, removeWallet } from './queries.ts'
import { readReceiver } from './receiver.ts'

/** Steps of one filling: a pool of a hundred needs five. */
const POOL_STEPS_MAX = 10

/** Error: mode_mismatch. */
export async function showWallets(
  deps: ApiDeps,
  caller: StoreCaller,
  query: { limit?: number; cursor?: string; mode?: Mode },
) {
  const modes = modesOf(caller, query.mode)
  const { storeId } = caller
  const page = readPage(query, { list: 'wallets', storeId, modes })
  const rows = await listWallets(deps.db, storeId, modes, page.before ?? LAST_ID, page.limit + 1)
  return toPage(page, rows, (row) => row.walletId, walletView)
}

/**
 * Adds a receiving wallet of the caller's mode. An xpub's first addresses are derived before it is there, so that no
 * checkout waits for them. Errors: invalid_request, wallet_exists.
 */
export async function addWallet(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  body: PostWalletBody,
) {
  const { deployments } = deps.config
  const deployment = deployments.get(deploymentName(body.network, mode))
  if (deployment === undefined) {
    fail('invalid_request', {
      message: 'There is no such network; GET /networks lists them.',
      param: 'network',
    })
  }
  const receiver = readReceiver(body, deployment, deployments.values())
  if (receiver.xpub !== null) {
    await refuseMoreWallets(deps.db, storeId, mode)
    await insertXpub(deps.db, receiver.xpub)
    await fillPool(deps, receiver.xpub)
  }
  const wallet = { walletId: newId('wal'), mode, network: deployment.network, ...receiver }
  const row = await withTransaction(deps.db, async (tx) => {
    await refuseMoreWallets(tx, storeId, mode)
    return insertWallet(tx, storeId, wallet)
  })
  return walletView(row ?? fail('wallet_exists'))
}

/** The wallet takes no new slots; open ones still settle. Error: wallet_not_found. */
export async function dropWallet(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  walletId: string,
): Promise<void> {
  const wasRemoved = isId('wal', walletId) && (await removeWallet(deps.db, storeId, mode, walletId))
  if (!wasRemoved) fail('wallet_not_found')
}

async function fillPool(deps: ApiDeps, xpub: string): Promise<void> {
  for (let step = 0; step < POOL_STEPS_MAX; step += 1) {
    const { isFull } = await extendPool(deps, xpub)
    if (isFull) return
  }
}
