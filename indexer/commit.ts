import { inParts, sendAll } from '#shared/db/parts.ts'
import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import { requestUnmatchedMail } from '#shared/mail-requests.ts'
import { type Deployment, watchedTokens } from '#shared/networks/registry.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import { isTerminal } from '#shared/payments/machine.ts'
import { noticeCredits, noticeRead } from '#shared/payments/notice.ts'
import { type CreditRow, lockPayments, readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import { announcePayments } from '#shared/wake.ts'
import { lowerAudited, swapCursor } from './cursor.ts'
import type { BlockRef, Observation } from './drivers/driver.ts'
import { type Decision, matchInOrder } from './match.ts'
import { lowerPositions, readClaimedAbove } from './positions.ts'
import {
  type Hit,
  insertTransfers,
  type NewTransfer,
  readCandidates,
  readKnownAddresses,
  readPaymentsAbove,
  retractTransfers,
} from './queries.ts'
import { holdSettled, moveRemined, readKnown } from './remined.ts'

/** What every commit of one deployment needs. */
export type CommitDeps = {
  db: Db
  deployment: Deployment
  settings: DoorSettings
  log: Log
}

/** The lease and the place a commit is fenced by. */
export type Fence = { epoch: number; previousHash: string | null }

/** Somebody else leads, or the cursor stands elsewhere: nothing of this commit happened. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
  constructor() {
    super('another process follows this deployment')
  }
}

const HOUR_MS = 3_600_000
/** Transfers matched, and stored, in one statement: each stays far below the server's deadline for a statement. */
const MATCH_MAX = 1_000
const INSERT_MAX = 1_000
/** Transfers of a block at the tip that cost less to look at than to wait for whose they are. */
const FEW_MAX = 20

function tokensByContract(deployment: Deployment) {
  const watched = watchedTokens(deployment)
  return new Map(watched.map(({ contract, token, decimals }) => [contract, { token, decimals }]))
}

/** Keeps the transfers to sellers' addresses, in tokens this deployment takes. */
export async function findHits(
  deps: CommitDeps,
  observations: readonly Observation[],
): Promise<Hit[]> {
  const tokens = tokensByContract(deps.deployment)
  const byKey = new Map<string, Observation[]>()
  for (const observation of observations) {
    // Strangers' transfers are nearly all there are: of each only this is looked at.
    const key = observation.toKey ?? observation.to.toLowerCase()
    const same = byKey.get(key)
    if (same) same.push(observation)
    else byKey.set(key, [observation])
  }
  const addresses = await readKnownAddresses(deps.db, deps.deployment.mode, [...byKey.keys()])
  const hits = addresses.flatMap((address) => {
    const received = byKey.get(address.toLowerCase()) ?? []
    return received.flatMap((observation) => {
      const facts = tokens.get(observation.contract)
      // Solana's addresses differ by case alone.
      const isHit = facts && observation.to === address && observation.amountBaseUnits > 0n
      return isHit ? [{ observation, ...facts }] : []
    })
  })
  return hits.sort(byPlace)
}

/**
 * {@link findHits} with the candidates of each, read before the transaction that stores them, which is that much shorter. Of a
 * few transfers everybody's are read at once with whose addresses they are, since at the tip each round trip is waited for.
 */
export async function findMatchable(
  deps: CommitDeps,
  observations: readonly Observation[],
): Promise<Hit[]> {
  if (observations.length === 0) return []
  const { deployment, clockToleranceMs } = deps.deployment
  const read = (hits: readonly Hit[]) => readCandidates(deps.db, deployment, hits, clockToleranceMs)
  if (observations.length <= FEW_MAX) {
    const tokens = tokensByContract(deps.deployment)
    const few = observations.flatMap((observation) => {
      const facts = tokens.get(observation.contract)
      return facts ? [{ observation, ...facts }] : []
    })
    const [hits, found] = await Promise.all([findHits(deps, observations), read(few)])
    const byObservation = new Map(few.map((hit, index) => [hit.observation, found[index] ?? []]))
    return hits.map((hit) => ({ ...hit, candidates: byObservation.get(hit.observation) ?? [] }))
  }
  const matchable: Hit[] = []
  const hits = await findHits(deps, observations)
  // Two at once: they are read by connections of their own, and nothing else is done before the first range is stored.
  for (let start = 0; start < hits.length; start += 2 * MATCH_MAX) {
    const part = hits.slice(start, start + 2 * MATCH_MAX)
    const found = (await inParts(part, MATCH_MAX, read)).flat()
    part.forEach((hit, index) => {
      matchable.push({ ...hit, candidates: found[index] ?? [] })
    })
  }
  return matchable
}

/** In the order of the chain, since transfers in a block affect each other. */
function byPlace({ observation: a }: Hit, { observation: b }: Hit): number {
  return a.blockNumber - b.blockNumber || a.index - b.index
}

/**
 * Stores the transfers of blocks up to `block`, moves the payments they belong to, and last the cursor: one
 * transaction. A second leader, a zombie or a block read again changes nothing. Throws {@link Fenced}.
 */
export async function commitBlock(
  deps: CommitDeps,
  fence: Fence,
  block: BlockRef,
  hits: readonly Hit[],
): Promise<void> {
  const swap = { deployment: deps.deployment.deployment, ...fence, block }
  if (hits.length === 0) {
    if (!(await swapCursor(deps.db, swap))) throw new Fenced()
    return
  }
  const moved = await withTransaction(deps.db, async (tx) => {
    const ids = await storeHits(deps, tx, hits, block.number)
    if (!(await swapCursor(tx, swap))) throw new Fenced()
    return ids
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
}

/** Matches, stores and notices transfers within an open transaction; answers the payments that moved. */
export async function storeHits(
  deps: CommitDeps,
  tx: Tx,
  hits: readonly Hit[],
  position: number,
): Promise<string[]> {
  const known = await readKnown(tx, deps.deployment.deployment, hits)
  const decisions = (await decide(deps, tx, hits)).map((decision, index): Decision => {
    const paymentId = known.attached.get(index)
    return paymentId ? { state: 'MATCHED', rule: 'attached', paymentId } : decision
  })
  const locked = await lockPayments(tx, decisions.flatMap(paymentOf))
  const transfers = hits.map((hit, index): NewTransfer => {
    const decision = settleLate(decisions[index] as Decision, locked)
    const payment = decision.state === 'MATCHED' ? locked.get(decision.paymentId) : undefined
    return { transferId: newId('trf'), hit, decision, ...(payment && { storeId: payment.storeId }) }
  })
  const remined = await moveRemined(tx, deps.deployment.deployment, transfers, known)
  const fresh = transfers.filter(({ transferId }) => !remined.has(transferId))
  const store = async (part: readonly NewTransfer[]) => {
    const ids = await insertTransfers(tx, deps.deployment, part)
    const stored = part.filter(({ transferId }) => ids.has(transferId))
    await tell(deps, tx, stored)
    const credits = await readAllCredits(tx, locked, stored, ids)
    return noticeRead(tx, locked, credits, position, deps.settings)
  }
  return (await sendAll(toParts(fresh), store)).flat()
}

/** What is attributed to the payments of transfers that were just stored: most of them had received nothing before. */
async function readAllCredits(
  tx: Tx,
  locked: ReadonlyMap<string, LockedPayment>,
  stored: readonly NewTransfer[],
  ids: ReadonlyMap<string, string>,
): Promise<Map<string, CreditRow[]>> {
  const credits = new Map<string, CreditRow[]>()
  for (const { transferId: givenId, hit, decision } of stored) {
    if (decision.state !== 'MATCHED') continue
    const { txHash, blockNumber, index, amountBaseUnits } = hit.observation
    const transferId = ids.get(givenId) ?? givenId
    const credit = {
      ...{ paymentId: decision.paymentId, transferId, txHash, blockNumber, logIndex: index },
      ...{ amountBaseUnits, isHeld: false, isFinal: false },
    }
    const known = credits.get(decision.paymentId)
    if (known) known.push(credit)
    else credits.set(decision.paymentId, [credit])
  }
  const earlier = [...credits.keys()].filter((id) => locked.get(id)?.receivedBaseUnits !== 0n)
  return earlier.length === 0 ? credits : new Map([...credits, ...(await readCredits(tx, earlier))])
}

/** Parts of some {@link INSERT_MAX} transfers, all those of one payment in one of them, since they add up. */
function toParts(transfers: readonly NewTransfer[]): NewTransfer[][] {
  const parts: NewTransfer[][] = []
  const partOf = new Map<string, NewTransfer[]>()
  let last: NewTransfer[] | undefined
  for (const transfer of transfers) {
    const [paymentId] = paymentOf(transfer.decision)
    let part = paymentId === undefined ? undefined : partOf.get(paymentId)
    if (!part) {
      if (!last || last.length >= INSERT_MAX) {
        last = []
        parts.push(last)
      }
      part = last
      if (paymentId !== undefined) partOf.set(paymentId, part)
    }
    part.push(transfer)
  }
  return parts
}

/** Tells sellers, by mail, and operators of transfers that were stored. */
async function tell(deps: CommitDeps, tx: Tx, stored: readonly NewTransfer[]): Promise<void> {
  const unmatched = stored.filter(({ decision }) => decision.state === 'UNMATCHED')
  await requestUnmatchedMail(
    tx,
    unmatched.map(({ transferId }) => transferId),
  )
  for (const { hit, decision } of stored) {
    deps.log.info('transfer', {
      state: decision.state,
      rule: decision.rule,
      ...(decision.state === 'UNMATCHED' ? { reason: decision.reason } : {}),
      block: hit.observation.blockNumber,
      txHash: hit.observation.txHash,
    })
  }
}

async function decide(deps: CommitDeps, tx: Tx, hits: readonly Hit[]): Promise<Decision[]> {
  const { deployment, clockToleranceMs } = deps.deployment
  const read = (part: readonly Hit[]) => readCandidates(tx, deployment, part, clockToleranceMs)
  const unread = hits.filter(({ candidates }) => !candidates)
  const found = (await inParts(unread, MATCH_MAX, read)).flat()
  const foundFor = new Map(unread.map((hit, index) => [hit, found[index]]))
  const terms = { clockToleranceMs, quarantineMs: deps.settings.quarantineHours * HOUR_MS }
  const arrivals = hits.map((hit) => {
    const { blockNumber, blockTimeMs, txHash, index, amountBaseUnits, contract } = hit.observation
    const place = { blockNumber, amountBaseUnits }
    return {
      ...{ deployment, token: hit.token, contract, blockTimeMs, ...place },
      credit: { transferId: '', txHash, logIndex: index, isHeld: false, ...place },
      candidates: hit.candidates ?? foundFor.get(hit) ?? [],
    }
  })
  return matchInOrder(arrivals, terms)
}

function paymentOf(decision: Decision): string[] {
  return decision.state === 'MATCHED' ? [decision.paymentId] : []
}

/** A payment may have ended (canceled, say) between being found and being locked: then the transfer is late. */
function settleLate(decision: Decision, locked: Map<string, LockedPayment>): Decision {
  if (decision.state === 'UNMATCHED') return decision
  const payment = locked.get(decision.paymentId)
  if (payment && !isTerminal(payment.status)) return decision
  return {
    state: 'UNMATCHED',
    rule: decision.rule,
    reason: 'LATE',
    candidates: [decision.paymentId],
  }
}

/**
 * Goes back to a block the chain still has: takes back the transfers above it, lets their payments wait again, moves
 * the cursor. What settled a payment stays; those payments are answered in `settled`. Throws {@link Fenced}.
 */
export async function commitReorg(
  deps: CommitDeps,
  fence: Fence,
  ancestor: BlockRef,
): Promise<{ settled: string[] }> {
  const { deployment, clockToleranceMs } = deps.deployment
  const { moved, settled } = await withTransaction(deps.db, async (tx) => {
    const young = await readClaimedAbove(tx, deployment, ancestor, clockToleranceMs)
    const losing = await readPaymentsAbove(tx, deployment, ancestor.number)
    const locked = await lockPayments(tx, [...young, ...losing])
    // Their transfers may now be mined at heights that had been read on the branch that was left.
    await lowerPositions(tx, young, ancestor.number)
    const affected = await retractTransfers(tx, deployment, ancestor.number)
    await holdSettled(tx, deployment, ancestor.number)
    // What a seller attached in this very moment is not among those locked above.
    const attached = await lockPayments(
      tx,
      affected.filter((id) => !locked.has(id)),
    )
    const all = new Map([...locked, ...attached])
    const ids = await noticeCredits(tx, all, affected, ancestor.number, deps.settings)
    const stays = losing.filter((id) => !affected.includes(id))
    await lowerAudited(tx, deployment, fence.epoch, ancestor)
    if (!(await swapCursor(tx, { deployment, ...fence, block: ancestor }))) throw new Fenced()
    return { moved: ids, settled: stays }
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
  return { settled }
}
