import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runMixed, seedShops } from '../bench/mixed-load.ts'
import { startStack } from '../support/stack.ts'

/** Milliseconds: the load takes four seconds, the rest is start and judgement on a shared machine. */
const TIMEOUT_MS = 90_000

test('checkouts, reads, cancels, simulates and transfers at the same payments: no 5xx, and one story', {
  timeout: TIMEOUT_MS,
}, async () => {
  const stack = await startStack()
  try {
    const shops = await seedShops(stack)
    const counts = await runMixed(stack, shops, { seconds: 4, concurrency: 16 })
    assert.deepEqual(counts.faults, [])
    assert.ok(counts.transferCount > 0, 'somebody paid')
    for (const answer of ['checkout 201', 'read 200', 'cancel 200', 'simulate 200']) {
      assert.ok((counts.answers[answer] ?? 0) > 0, `${answer}: ${JSON.stringify(counts.answers)}`)
    }
    await stack.judgeChain()
  } finally {
    await stack.close()
  }
})
