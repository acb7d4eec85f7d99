import {
  type AuditRange,
  type AuditResult,
  commitAudit,
  commitReread,
  settleBelow,
} from './audit.ts'
import { noteDisagreement, readBlockHash, readHeldBlocks, readIsAuditWanted } from './cursor.ts'
import type { AuditReading, Observation } from './drivers/driver.ts'
import { type Difference, readHeldRecipients } from './held.ts'
import type { FollowDeps, Place } from './place.ts'
import { readHeldAddresses } from './recipients.ts'
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
/** Blocks of one second reading that are looked into: some calls to each provider for each. */
const PROVED_BLOCKS_MAX = 64
/** Times in a row that balances have to show that a held transfer is not there before it is taken back. */
const DISPROOFS_MIN = 2
/** What is said of held transfers. */
const WAITING = 'balances say that they never were; they are taken back when they say so again'
const UNDECIDED =
  'it cannot be proved which reading is right. Look at `ops transfer held`, and at what `rpc` names'

/** Reads blocks at depth again, when something waits for it or it is time. `isThrifty`: with few calls, nobody waits. */
export async function audit(deps: FollowDeps, place: Place, isThrifty: boolean): Promise<void> {
  // With few calls one after the other, so that the head is looked at in between.
  const isHeldsTurn = !isThrifty || place.rereadAtMs <= place.auditedAtMs
  if (isHeldsTurn && (await rereadHeld(deps, place, isThrifty)) && isThrifty) return
  const { deployment } = deps.deployment
  const depthBlock = await readDepthBlock(deps, place)
  if (depthBlock <= place.auditedNumber) {
    // Only where somebody waits can there be anything to settle.
    if (!isThrifty) await settleBelow(deps, { ...place, position: place.cursor.number })
    return
  }
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
  const first = await commitAudit(deps, { ...range, isTrial: true }, reading.transfers)
  if (first.differences) await settleDifferences(deps, range, reading, first)
  place.auditedNumber = number
  return true
}

/** Two readings differ: what can be proved is stored as proved, of the rest what is found only now counts and what is gone is held. */
async function settleDifferences(
  deps: FollowDeps,
  range: AuditRange,
  { transfers, method }: AuditReading,
  { foundCount, heldCount, differences = [] }: AuditResult,
): Promise<void> {
  const { from, last } = range
  const facts = { from, to: last.number, method, foundCount, heldCount }
  deps.log.error('two readings of the same blocks differ', facts)
  const proved = await prove(deps, transfers, differences)
  const differenceCount = foundCount + heldCount
  const after = await commitAudit(deps, { ...range, differenceCount }, proved)
  deps.log.warn('what two readings differed about was decided', {
    ...{ from, to: last.number, foundCount: after.foundCount, heldCount: after.heldCount },
  })
}

/** A reading with the blocks that differ put right as far as that can be proved. */
async function prove(
  { driver, log }: FollowDeps,
  transfers: readonly Observation[],
  differences: readonly Difference[],
): Promise<Observation[]> {
  let known = [...transfers]
  for (const { blockNumber, recipients } of differences.slice(0, PROVED_BLOCKS_MAX)) {
    const proof = await driver.proveBlock?.(blockNumber, recipients)
    if (!proof) continue
    log.warn('balances tell which reading is right', { block: blockNumber, method: proof.method })
    const isConcerned = (one: Observation) => recipients.includes(one.to)
    known = known.filter((one) => one.blockNumber !== blockNumber || !isConcerned(one))
    known.push(...proof.transfers.filter(isConcerned))
  }
  return known.sort((a, b) => a.blockNumber - b.blockNumber || a.index - b.index)
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

/**
 * Reads blocks with held transfers again, a few at a time, and answers whether it read any: what a reading confirms counts, what left the chain is taken back, and
 * so is what was shown again and again never to have been there.
 */
async function rereadHeld(deps: FollowDeps, place: Place, isThrifty: boolean): Promise<boolean> {
  if (deps.nowMs() - place.rereadAtMs < REREAD_EVERY_MS) return false
  place.rereadAtMs = deps.nowMs()
  const name = deps.deployment.deployment
  const max = isThrifty ? 1 : REREAD_BLOCKS_MAX
  const held = await readHeldBlocks(deps.db, name, place.rereadNumber, max)
  const wanted = held.filter((number) => number <= place.auditedNumber)
  for (const number of wanted) await rereadBlock(deps, place, number)
  if (held.length === 0 && place.rereadNumber === 0) place.disproofs.clear()
  place.rereadNumber = held.length < max ? 0 : (held.at(-1) ?? 0)
  return wanted.length > 0
}

async function rereadBlock(deps: FollowDeps, place: Place, number: number): Promise<void> {
  const { driver, deployment, log } = deps
  const recipients = await readHeldRecipients(deps.db, deployment.deployment, number)
  const last = await driver.block(number)
  const proof = await driver.proveBlock?.(number, recipients)
  const isProved = proof !== undefined && proof.blockHash === last?.hash
  const reading = isProved ? proof : await driver.auditTransfers(number, number)
  const hash = 'blockHash' in reading ? reading.blockHash : reading.lastHash
  if (!last || hash !== last.hash) return
  const { disproofs } = place
  const disproved = [...disproofs]
    .filter(([, count]) => count >= DISPROOFS_MIN - 1)
    .map(([id]) => id)
  const range = { from: number, last, position: place.cursor.number, epoch: place.epoch }
  const { heldCount, goneIds } = await commitReread(
    deps,
    range,
    reading.transfers,
    isProved ? disproved : [],
  )
  for (const id of goneIds) disproofs.set(id, isProved ? (disproofs.get(id) ?? 0) + 1 : 0)
  const facts = { block: number, heldCount, method: reading.method }
  if (heldCount === 0) log.warn('held transfers were decided', facts)
  else log.error(`transfers stay held: ${isProved ? WAITING : UNDECIDED}`, facts)
}
