import { commitAudit, commitReread } from './audit.ts'
import {
  noteDisagreement,
  readBlockHash,
  readHeldAddresses,
  readHeldBlocks,
  readIsAuditWanted,
} from './cursor.ts'
import type { AuditReading } from './drivers/driver.ts'
import type { FollowDeps, Place } from './place.ts'
import { goBack } from './reorganise.ts'
import { RpcError } from './rpc-error.ts'

/** Blocks read a second time in one transaction. */
const AUDIT_BLOCKS_MAX = 500
/** Recipients whose balances a second reading may go by: a few calls. With more, it takes receipts. */
const RECIPIENTS_MAX = 2_000
/** With nothing waiting for depth, blocks are read the second time at least this often, in milliseconds. */
const AUDIT_EVERY_MS = 10_000
/** Milliseconds spent on second readings before the head is looked at again. */
const AUDIT_MS_MAX = 5_000
/** Held blocks are read again this often, in milliseconds, and this many at a time. */
const REREAD_EVERY_MS = 15_000
const REREAD_BLOCKS_MAX = 10

/** Reads blocks at depth again, when something waits for it or it is time. `isThrifty`: with few calls, nobody waits. */
export async function audit(deps: FollowDeps, place: Place, isThrifty: boolean): Promise<void> {
  await rereadHeld(deps, place)
  const { deployment } = deps.deployment
  const depthBlock = await readDepthBlock(deps, place)
  if (depthBlock <= place.auditedNumber) return
  const startedAtMs = deps.nowMs()
  const isDue = startedAtMs - place.auditedAtMs >= AUDIT_EVERY_MS
  if (!isDue && !(await readIsAuditWanted(deps.db, deployment, depthBlock))) return
  while (place.auditedNumber < depthBlock) {
    if (deps.nowMs() - startedAtMs > AUDIT_MS_MAX) return
    const from = place.auditedNumber + 1
    const to = Math.min(depthBlock, from + AUDIT_BLOCKS_MAX - 1)
    if (!(await auditRange(deps, place, { from, to, isThrifty }))) break
  }
  place.auditedAtMs = deps.nowMs()
}

/** The newest block that is deep enough: by the chain's own word where it has one, else by counting. */
async function readDepthBlock({ driver, deployment }: FollowDeps, place: Place): Promise<number> {
  if (!driver.finalizedNumber) return place.cursor.number - deployment.confirmations + 1
  return Math.min(place.cursor.number, await driver.finalizedNumber())
}

async function auditRange(
  deps: FollowDeps,
  place: Place,
  { from, to, isThrifty }: { from: number; to: number; isThrifty: boolean },
): Promise<boolean> {
  const { driver, log, deployment } = deps
  const { deployment: name } = deployment
  const reading = await readTwice(deps, from, to, isThrifty)
  const number = reading?.readTo ?? to
  const last = await driver.block(number)
  const known = await readBlockHash(deps.db, name, number)
  if (last && known !== undefined && last.hash !== known) {
    // Replaced since it was read the first time; at a depth of one block even the cursor may be.
    await goBack(deps, place)
    return false
  }
  if (!reading || reading.lastHash !== last?.hash) {
    const method = reading?.method
    log.warn('two readings see different blocks at depth', { block: number, method })
    await noteDisagreement(deps.db, name)
    return false
  }
  const position = place.cursor.number
  const range = { from, last, position, epoch: place.epoch }
  const { foundCount, heldCount } = await commitAudit(deps, range, reading.transfers)
  place.auditedNumber = number
  if (foundCount + heldCount > 0) {
    log.error('two readings of the same blocks differ', {
      ...{ from, to: number, foundCount, heldCount },
      method: reading.method,
    })
  }
  return true
}

/** A second reading; undefined when what a node answers contradicts itself: then nothing below counts as read twice. */
async function readTwice(
  { driver, db, deployment, log }: FollowDeps,
  from: number,
  to: number,
  isThrifty: boolean,
): Promise<AuditReading | undefined> {
  const recipients = async () => {
    const held = await readHeldAddresses(db, deployment.deployment, RECIPIENTS_MAX + 1)
    return held.length > RECIPIENTS_MAX ? undefined : held
  }
  try {
    return await driver.auditTransfers(from, to, { isThrifty, recipients })
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind !== 'inconsistent') throw error
    log.error('a second reading contradicts itself', { from, to, error })
    return undefined
  }
}

/** Reads blocks with held transfers again, a few at a time: what a reading confirms counts, what left the chain is taken back. */
async function rereadHeld(deps: FollowDeps, place: Place): Promise<void> {
  if (deps.nowMs() - place.rereadAtMs < REREAD_EVERY_MS) return
  place.rereadAtMs = deps.nowMs()
  const { driver, deployment, log } = deps
  const name = deployment.deployment
  const held = await readHeldBlocks(deps.db, name, place.rereadNumber, REREAD_BLOCKS_MAX)
  for (const number of held) {
    if (number > place.auditedNumber) continue
    const last = await driver.block(number)
    const reading = await driver.auditTransfers(number, number)
    if (!last || reading.lastHash !== last.hash) continue
    const range = { from: number, last, position: place.cursor.number, epoch: place.epoch }
    const { heldCount } = await commitReread(deps, range, reading.transfers)
    const message = heldCount === 0 ? 'held transfers were decided' : 'transfers stay held'
    log.warn(message, { block: number, heldCount, method: reading.method })
  }
  place.rereadNumber = held.length < REREAD_BLOCKS_MAX ? 0 : (held.at(-1) ?? 0)
}
