import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { closeDb, openDb } from '#shared/db.ts'
import { createLog, silentLog } from '#shared/log.ts'
import { createMetrics } from '#shared/metrics.ts'
import { serveHealth } from '../../indexer/health.ts'
import type { Indexer } from '../../indexer/indexer.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createEvmFollowing } from '../support/evm-follow.ts'
import { findFreePort } from '../support/free-port.ts'
import { startTestIndexer } from '../support/indexer.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 60_000
/** Milliseconds within which a stalled network has to be seen. */
const VISIBLE_MS = 30_000
/** Milliseconds in which a probe is answered. */
const PROBE_MS_MAX = 2_500

let chain: TestChain
let node: LyingRpc
let database: TestDatabase
let indexer: Indexer
let base: string
let aheadMs = 0
const lines: string[] = []

const get = async (path: string) => (await fetch(`${base}${path}`)).text()
const metric = async (name: string, labels: string) => {
  const line = (await get('/metrics'))
    .split('\n')
    .find((one) => one.startsWith(`${name}{${labels}`))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

describe('the indexer tells', () => {
  before(async () => {
    ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
    node = await startLyingRpc(chain)
    const metricsPort = await findFreePort()
    base = `http://127.0.0.1:${metricsPort}`
    const rpc = [node.wsUrl, node.httpUrl, chain.httpUrl.replace('127.0.0.1', 'localhost')]
    const { bnb } = chain.deployments()
    const write = (line: string) => void lines.push(line)
    indexer = await startTestIndexer({
      database,
      metricsPort,
      deployments: [chain.deployments({ rpc }).base, { ...bnb, isOn: false, rpc: [] }],
      log: createLog({ level: 'warn', format: 'json', name: 'indexer', write }),
      nowMs: () => Date.now() + aheadMs,
    })
  })
  after(async () => {
    await indexer.stop()
    await Promise.all([node.stop(), chain.stop(), database.drop()])
  })

  it('that it follows, how far behind it is, and how often each provider was asked', {
    timeout,
  }, async () => {
    const deployment = 'deployment="base:test"'
    const isTold = async () =>
      (await metric('indexer_leading', deployment)) === 1 &&
      (await metric('indexer_blocks_behind', deployment)) === 0 &&
      Number(await metric('indexer_rpc_calls_total', `${deployment},provider="2"`)) >= 1
    await until(isTold, { what: 'the numbers of its first pass', timeoutMs: 15_000 })
    assert.equal(await metric('indexer_stalled', deployment), 0)
    assert.equal(await metric('indexer_disagreements_total', deployment), 0)
    assert.equal(await metric('indexer_held_transfers', deployment), 0)
    assert.equal(await metric('indexer_halted', deployment), 0)
    assert.ok(Number(await metric('indexer_rpc_calls_total', `${deployment},provider="1"`)) > 3)
    assert.deepEqual(JSON.parse(await get('/readyz')), { status: 'OK', stalled: [] })
    const text = await get('/metrics')
    const typeOf = (name: string) => text.match(new RegExp(`^# TYPE ${name} (.*)$`, 'm'))?.[1]
    for (const what of ['rpc_calls', 'rpc_errors', 'disagreements']) {
      assert.equal(typeOf(`indexer_${what}_total`), 'counter', 'what only grows is a counter')
    }
  })

  it('that payments wait on a deployment that was switched off, until none does', {
    timeout,
  }, async () => {
    const { db } = database
    const deployment = 'bnb:test'
    const waiting = await createEvmFollowing({ chain, database, changes: { deployment } })
    const { paymentId } = await waiting.claim(1_000)
    const stalled = async () => JSON.parse(await get('/readyz')).stalled
    assert.deepEqual(await stalled(), [deployment])
    const number = () => metric('indexer_stalled', `deployment="${deployment}"`)
    await until(async () => (await number()) === 1, {
      what: 'the metric says so',
      timeoutMs: 10_000,
    })
    const told = lines.filter((line) => /is off, and payments wait on it/.test(line))
    assert.equal(told.length, 1, 'and so does the log, once')
    assert.match(told.join(), /"deployment":"bnb:test"/)
    await db`
      update slots set is_open = false, ended_at = service_now(), release_at = service_now()
      where payment_id = ${paymentId}`
    assert.deepEqual(await stalled(), [])
    await until(async () => (await number()) === 0, { what: 'it is over', timeoutMs: 10_000 })
  })

  it('that it is not ready, in time for who asks, while the database says nothing', {
    timeout,
  }, async () => {
    const proxy = await startTcpProxy(database.url)
    proxy.behave('silent')
    const db = openDb({ url: proxy.url, applicationName: 'test' })
    const metricsPort = await findFreePort()
    const health = serveHealth({
      ...{ config: { metricsPort, host: '127.0.0.1' }, db, log: silentLog, nowMs: Date.now },
      ...{ metrics: createMetrics(), deployments: [], followed: new Map() },
    })
    const startedMs = performance.now()
    const { status } = await fetch(`http://127.0.0.1:${metricsPort}/readyz`)
    assert.equal(status, 503)
    assert.ok(performance.now() - startedMs < PROBE_MS_MAX)
    await Promise.all([health.stop(), closeDb(db, 0), proxy.close()])
  })

  it('within 30 s that a chain stands still', { timeout }, async () => {
    await chain.mine()
    await until(async () => JSON.parse(await get('/readyz')).status === 'OK', { what: 'is well' })
    aheadMs += VISIBLE_MS
    const { status, stalled } = JSON.parse(await get('/readyz'))
    assert.deepEqual({ status, stalled }, { status: 'DEGRADED', stalled: ['base:test'] })
    await until(async () => (await metric('indexer_stalled', 'deployment="base:test"')) === 1, {
      what: 'the metric says so',
      timeoutMs: 10_000,
    })
    await chain.mine()
    await until(async () => JSON.parse(await get('/readyz')).status === 'OK', {
      what: 'a new block ends it',
      timeoutMs: 20_000,
    })
  })
})
