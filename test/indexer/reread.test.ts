import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDoorbell } from '../../indexer/doorbell.ts'
import type { AuditReading, Driver, Proof } from '../../indexer/drivers/driver.ts'
import type { FollowDeps, Place } from '../../indexer/place.ts'
import { audit as auditAgain } from '../../indexer/reread.ts'
import { audit, claim, extend, seen, statusOf, story, tellStory } from '../support/commit-story.ts'

tellStory()

/** Milliseconds after which held blocks are due to be read again. */
const LATER_MS = 20_000

function uncalled(): never {
  throw new Error('nobody should ask this')
}

test('what is held is taken back when balances showed twice in a row that it never was, and by nothing less', async () => {
  const { paymentId, due } = await claim(1_000)
  await extend((block) => [seen(block, due)])
  assert.deepEqual(await audit([]), { foundCount: 0, heldCount: 1 })
  const block = story.tip
  const nothing: Proof = { blockHash: block.hash, transfers: [], method: 'balances' }
  const unproved: AuditReading = {
    transfers: [],
    lastHash: block.hash,
    readTo: block.number,
    method: 'logs',
  }
  let proof: Proof | undefined
  let nowMs = 0
  const driver: Driver = {
    ...{
      check: uncalled,
      head: uncalled,
      blockWithTransfers: uncalled,
      rangeWithTransfers: uncalled,
    },
    ...{ wake: uncalled, health: uncalled, spare: uncalled, stop: uncalled },
    block: async () => block,
    proveBlock: async () => proof,
    auditTransfers: async () => unproved,
  }
  const deps: FollowDeps = { ...story.deps, driver, doorbell: createDoorbell(), nowMs: () => nowMs }
  const place: Place = {
    ...{ epoch: story.epoch, cursor: block, auditedNumber: block.number, auditedAtMs: 0 },
    ...{ rereadAtMs: 0, rereadNumber: 0, disproofs: new Map() },
  }
  const readAgain = async (shown: Proof | undefined) => {
    proof = shown
    nowMs += LATER_MS
    // The last of a round is followed by the beginning of the next.
    await auditAgain(deps, place, false)
    return statusOf(paymentId)
  }
  assert.equal(await readAgain(nothing), 'DETECTED', 'once')
  assert.equal(await readAgain(undefined), 'DETECTED', 'nothing is proved')
  assert.equal(await readAgain(nothing), 'DETECTED', 'once again')
  assert.equal(await readAgain(nothing), 'PENDING', 'twice in a row')
})
