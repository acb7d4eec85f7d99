import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '#shared/errors.ts'
import { createBatcher, WAIT_MAX_MS } from '../../api/batch.ts'

const nowMs = () => 0

/** Runs that end when they are told to. */
function heldRuns() {
  const runs: { items: readonly number[]; end(error?: Error): void }[] = []
  return {
    runs,
    run: (items: readonly number[]) =>
      new Promise<string[]>((resolve, reject) => {
        const end = (error?: Error) =>
          error ? reject(error) : resolve(items.map((item) => `did ${item}`))
        runs.push({ items, end })
      }),
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

async function settle(): Promise<void> {
  for (let count = 0; count < 5; count += 1) await turn()
}

test('what is asked for in one turn of the event loop is one run, answered item by item', async () => {
  const { runs, run } = heldRuns()
  const ask = createBatcher({ run, sizeMax: 10, runsMax: 1, nowMs })
  const answers = Promise.all([ask(1), ask(2), ask(3)])
  await settle()
  assert.deepEqual(
    runs.map(({ items }) => items),
    [[1, 2, 3]],
  )
  runs[0]?.end()
  assert.deepEqual(await answers, ['did 1', 'did 2', 'did 3'])
})

test('while all runs are under way items wait, and go together in their order when one has ended', async () => {
  const { runs, run } = heldRuns()
  const ask = createBatcher({ run, sizeMax: 2, runsMax: 2, nowMs })
  const first = ask(1)
  await settle()
  const second = ask(2)
  await settle()
  const rest = [ask(3), ask(4), ask(5)]
  await settle()
  assert.deepEqual(
    runs.map(({ items }) => items),
    [[1], [2]],
  )
  runs[0]?.end()
  assert.equal(await first, 'did 1')
  await settle()
  assert.deepEqual(runs[2]?.items, [3, 4], 'no more than fit')
  runs[1]?.end()
  assert.equal(await second, 'did 2')
  await settle()
  assert.deepEqual(runs[3]?.items, [5])
  for (const { end } of runs) end()
  assert.deepEqual(await Promise.all(rest), ['did 3', 'did 4', 'did 5'])
})

test('an item at which a run fails fails alone', async () => {
  const asked: (readonly number[])[] = []
  const ask = createBatcher({
    ...{ sizeMax: 10, runsMax: 1, nowMs },
    async run(items: readonly number[]) {
      asked.push(items)
      if (items.includes(2)) throw new Error('not this one')
      return items.map((item) => item * 10)
    },
  })
  const answers = await Promise.allSettled([ask(1), ask(2), ask(3)])
  assert.deepEqual(asked, [[1, 2, 3], [1], [2], [3]])
  assert.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'failed')),
    [10, 'failed', 30],
  )
})

test('a database that cannot answer is not asked again for each item', async () => {
  let runs = 0
  const ask = createBatcher({
    ...{ sizeMax: 10, runsMax: 1, nowMs },
    async run(): Promise<number[]> {
      runs += 1
      throw Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' })
    },
  })
  const answers = await Promise.allSettled([ask(1), ask(2)])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(runs, 1)
  await assert.rejects(ask(3), /gone/, 'and the next one is asked for anew')
  assert.equal(runs, 2)
})

test('a run that answers too few items fails its items instead of mixing them up', async () => {
  const ask = createBatcher({
    ...{ sizeMax: 10, runsMax: 1, nowMs, run: async () => ['only one'] },
  })
  const [one, other] = await Promise.allSettled([ask(1), ask(2)])
  assert.equal(one.status, 'fulfilled', 'alone it has one answer for one item')
  assert.equal(other.status, 'fulfilled')
  const ofNone = createBatcher({ ...{ sizeMax: 10, runsMax: 1, nowMs, run: async () => [] } })
  await assert.rejects(ofNone(1), /another number/)
})

test('what waited too long is refused as unavailable instead of done for nobody', async () => {
  const { runs, run } = heldRuns()
  let now = 0
  const ask = createBatcher({ run, sizeMax: 10, runsMax: 1, nowMs: () => now })
  const first = ask(1)
  await settle()
  const late = ask(2)
  now = 1
  const inTime = ask(3)
  now = WAIT_MAX_MS
  runs[0]?.end()
  await assert.rejects(late, (error) => error instanceof ServiceError && error.status === 503)
  await settle()
  assert.deepEqual(runs[1]?.items, [3])
  runs[1]?.end()
  assert.deepEqual(await Promise.all([first, inTime]), ['did 1', 'did 3'])
})
