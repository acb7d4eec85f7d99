import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDoorbell } from '../../indexer/doorbell.ts'
import type { BlockRef, Driver, Observation } from '../../indexer/drivers/driver.ts'
import { lead } from '../../indexer/follow.ts'
import { claim, seen, statusOf, story, tellStory } from '../support/commit-story.ts'
import { until } from '../support/until.ts'

tellStory()

/** Blocks of each range that the driver of this test reads, and of the whole chain ahead. */
const RANGE_BLOCKS = 10
const AHEAD_BLOCKS = 30

function uncalled(): never {
  throw new Error('nobody should ask this')
}

/** A chain of plain blocks with these transfers, read in short ranges. */
function driverOf(head: number, timeMs: number, transfers: readonly Observation[]): Driver {
  const blockAt = (number: number): BlockRef => {
    return { number, hash: `0x${number}`, parentHash: `0x${number - 1}`, timeMs }
  }
  const between = (from: number, to: number) =>
    transfers.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to)
  return {
    ...{ blockWithTransfers: uncalled, nearBlocks: 0 },
    health: () => ({ provider: 'none', callCount: 0, errorCount: 0, socketAlive: true }),
    check: async () => undefined,
    head: async () => blockAt(head),
    block: async (number) => (number <= head ? blockAt(number) : undefined),
    async rangeWithTransfers(from, upTo) {
      const to = Math.min(upTo, from + RANGE_BLOCKS - 1)
      const { parentHash } = blockAt(from)
      return { last: blockAt(to), transfers: between(from, to), parentHash }
    },
    async auditTransfers(from, to) {
      return { transfers: between(from, to), lastHash: blockAt(to).hash, method: 'again' }
    },
    wake: () => ({ watch: () => undefined, stop: () => undefined }),
    spare: () => undefined,
    stop: async () => undefined,
  }
}

test('a range that was prepared while the one before it was stored knows whom that one paid', {
  timeout: 30_000,
}, async () => {
  const [paid, short] = [await claim(20_000), await claim(20_000)]
  const { number: first } = story.tip
  const timeMs = Date.now()
  const at = (offset: number): BlockRef => {
    const number = first + offset
    return { number, hash: `0x${number}`, parentHash: '', timeMs }
  }
  // Both at one address and price: as long as the first is not paid, a short amount may be meant for either.
  const transfers = [seen(at(2), paid.due), seen(at(RANGE_BLOCKS + 5), short.due / 2n)]
  const doorbell = createDoorbell()
  let isDone = false
  const deps = {
    ...story.deps,
    ...{ driver: driverOf(first + AHEAD_BLOCKS, timeMs, transfers), doorbell },
    nowMs: () => Date.now(),
  }
  const leading = lead(deps, story.epoch, () => isDone)
  try {
    await until(async () => (await statusOf(short.paymentId)) === 'UNDERPAID', {
      what: 'the short amount to be its payment’s',
      timeoutMs: 15_000,
    })
    assert.equal(await statusOf(paid.paymentId), 'CONFIRMED')
  } finally {
    isDone = true
    doorbell.ring()
    await leading
  }
})
