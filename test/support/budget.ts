import assert from 'node:assert/strict'
import type { Db } from '#shared/db.ts'

/** What was seen of a deployment's calls, and of its head. */
export type Budget = {
  /** Asserts that however long and whenever one counts, ten seconds at least, there is a call a second at most. */
  assertOneCallASecond(asked: string): void
  /** Asserts that the head never was so old that it would have looked stalled. */
  assertAlive(): void
}

/** Milliseconds between two counts, and of the shortest time that is looked at. */
const COUNT_EVERY_MS = 100
const WINDOW_MS_MIN = 10_000
/** Calls that may come at once, at an edge of the time looked at. */
const EDGE_CALLS_MAX = 1
/** Seconds after which a head that did not move looks stalled (shared/stalled.ts), less one for what is slow here. */
const HEAD_AGE_S_MAX = 24

/** Counts the calls made for a deployment, and looks how old its head is, for so many milliseconds. */
export async function watchBudget(watched: {
  db: Db
  calls(): number
  watchMs: number
}): Promise<Budget> {
  const { db, calls, watchMs } = watched
  const counts: { atMs: number; calls: number }[] = []
  const beganAtMs = performance.now()
  let headAgeS = 0
  while (performance.now() - beganAtMs < watchMs) {
    counts.push({ atMs: performance.now(), calls: calls() })
    await new Promise((done) => setTimeout(done, COUNT_EVERY_MS))
    if (counts.length % 10 !== 0) continue
    const [row] = await db<{ ageS: number }[]>`
      select extract(epoch from service_now() - head_seen_at)::float8 as age_s from deployments`
    headAgeS = Math.max(headAgeS, row?.ageS ?? Number.POSITIVE_INFINITY)
  }
  return {
    assertOneCallASecond(asked) {
      assert.ok((counts.at(-1)?.atMs ?? 0) - beganAtMs > WINDOW_MS_MIN)
      for (const [index, from] of counts.entries()) {
        for (const to of counts.slice(index)) {
          const seconds = (to.atMs - from.atMs) / 1_000
          if (seconds * 1_000 < WINDOW_MS_MIN) continue
          const count = to.calls - from.calls
          assert.ok(count <= seconds + EDGE_CALLS_MAX, `${count} calls in ${seconds} s:\n${asked}`)
        }
      }
    },
    assertAlive() {
      assert.ok(headAgeS < HEAD_AGE_S_MAX, `the head was ${headAgeS} s old`)
    },
  }
}
