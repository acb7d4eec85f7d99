import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import { fuzz } from './fuzz.ts'

/** Long enough to try every endpoint some twenty times; `bun run fuzz` goes on for longer. */
const REQUEST_COUNT_MAX = 1_500
const TIME_MS_MAX = 6_000

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

test('hostile input is never answered a 5xx or another shape than ours', {
  timeout: 30_000,
}, async () => {
  const report = await fuzz(api, {
    seed: 20_261_121,
    requestCountMax: REQUEST_COUNT_MAX,
    timeMsMax: TIME_MS_MAX,
  })
  // It would prove little if nothing got past the first check.
  const successCount = (report.statuses['200'] ?? 0) + (report.statuses['201'] ?? 0)
  assert.ok(successCount > report.requestCount / 20, JSON.stringify(report))
})
