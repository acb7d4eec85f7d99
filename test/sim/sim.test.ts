import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from './simulate.ts'

const SEED = 20_260_702
const STEP_COUNT = 200
/** Milliseconds: some 10 s, and what a busy machine makes of them. */
const TIMEOUT_MS = 90_000

test('whatever fails on the way, every payment ends as the chain says, and the seller is told', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { payments, transferCount } = await simulate({ seed: SEED, stepCount: STEP_COUNT })
  assert.ok((payments['CONFIRMED'] ?? 0) > 0, 'somebody paid')
  assert.ok(transferCount > 0)
})
