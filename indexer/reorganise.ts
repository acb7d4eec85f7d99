import { commitReorg } from './commit.ts'
import { BLOCKS_KEPT, readBlocks } from './cursor.ts'
import type { BlockRef } from './drivers/driver.ts'
import { checkGenesis, type FollowDeps, type Place } from './place.ts'
import { RpcError } from './rpc-error.ts'

type StoredBlock = { number: number; hash: string }

/**
 * Goes back to the newest stored block that the chain still has, and takes back what lies above it. False when that is the
 * cursor itself: two nodes disagree, and the next reading may be of one mind.
 */
export async function goBack(deps: FollowDeps, place: Place): Promise<boolean> {
  const { deployment } = deps.deployment
  const stored = await readBlocks(deps.db, deployment)
  const ancestor = (await findAncestor(deps, stored)) ?? (await rebuild(deps, place, stored))
  if (ancestor.hash === place.cursor.hash) return false
  deps.log.warn('reorganisation', { from: place.cursor.number, to: ancestor.number })
  if (place.auditedNumber > ancestor.number) {
    deps.log.error('the chain was reorganised below the confirmation depth', {
      audited: place.auditedNumber,
      ancestor: ancestor.number,
    })
  }
  const fence = { epoch: place.epoch, previousHash: place.cursor.hash }
  const { settled } = await commitReorg(deps, fence, ancestor)
  if (settled.length > 0) {
    deps.log.error('payments stay settled on transfers that left the chain', {
      paymentIds: settled,
    })
  }
  place.cursor = ancestor
  place.auditedNumber = Math.min(place.auditedNumber, ancestor.number)
  return true
}

/**
 * The newest of the stored blocks (newest first) that is on the chain. Where one is, all older ones are, so the search
 * doubles its strides and then halves them.
 */
async function findAncestor(
  { driver }: FollowDeps,
  stored: readonly StoredBlock[],
): Promise<BlockRef | undefined> {
  const look = async (index: number): Promise<BlockRef | undefined> => {
    const known = stored[index]
    if (!known) return undefined
    const current = await driver.block(known.number)
    // The head is above every stored block, so a node without one lags, and says nothing about branches.
    if (!current) throw new RpcError('lagging', `a node does not have block ${known.number} yet`)
    return current.hash === known.hash ? current : undefined
  }
  let left = -1
  let right = 0
  let found = await look(right)
  while (!found) {
    if (right >= stored.length - 1) return undefined
    left = right
    right = Math.min(stored.length - 1, right * 2 + 1)
    found = await look(right)
  }
  while (right - left > 1) {
    const middle = Math.floor((left + right) / 2)
    const block = await look(middle)
    if (block) {
      found = block
      right = middle
    } else {
      left = middle
    }
  }
  return found
}

/**
 * No stored block is on the chain, the one that was final among them: deeper than any reorganisation that a supported
 * chain has shown. Said loudly, and read anew from as far below as blocks are kept.
 */
async function rebuild(
  deps: FollowDeps,
  place: Place,
  stored: readonly StoredBlock[],
): Promise<BlockRef> {
  await checkGenesis(deps)
  const oldest = Math.min(place.auditedNumber, stored.at(-1)?.number ?? place.cursor.number)
  const number = Math.max(0, oldest - BLOCKS_KEPT)
  deps.log.error('the chain was reorganised deeper than any stored block', { oldest, from: number })
  const block = await deps.driver.block(number)
  if (!block) throw new RpcError('lagging', `a node does not have block ${number}`)
  return block
}
