import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newId } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import type { Tokens } from '#shared/networks/registry.ts'
import { RESCAN_KIND } from '#shared/requests.ts'
import { readRetired } from '../../indexer/contracts.ts'
import type { Indexer } from '../../indexer/indexer.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type Claim, createEvmFollowing, type EvmFollowing } from '../support/evm-follow.ts'
import { QUARANTINE_HOURS, startTestIndexer } from '../support/indexer.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 60_000

let chain: TestChain
let database: TestDatabase
let indexer: Indexer
/** Sellers at one address, of whom one checks out with the table before and the other with the table after. */
let [old, young] = [] as unknown as [EvmFollowing, EvmFollowing]
let [paidBefore, paidAfter] = [] as unknown as [Claim, Claim]
const lines: string[] = []

function start(tokens: Tokens): Promise<Indexer> {
  const write = (line: string) => void lines.push(line)
  return startTestIndexer({
    database,
    deployments: [{ ...chain.deployments().base, tokens }],
    log: createLog({ level: 'error', format: 'json', name: 'indexer', write }),
  })
}

const named = (contract: string): Tokens => ({ usdc: { contract, decimals: 6 } })
const pay = (token: TestChain['tokens']['usdc'], amountBaseUnits: bigint) =>
  chain.pay({ token, to: old.address, amountBaseUnits })

describe('a contract that the table of networks names no more', () => {
  before(async () => {
    ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
    const { usdc, usdt } = chain.tokens
    old = await createEvmFollowing({ chain, database, changes: { tokens: named(usdc) } })
    const seed = { wallets: [{ network: 'base', address: old.address }] }
    young = await createEvmFollowing({ chain, database, seed, changes: { tokens: named(usdt) } })
    indexer = await start(named(usdc))
    const isKept = async () => (await database.db`select from token_contracts`).length === 1
    await until(isKept, { what: 'the contract is noted', timeoutMs: 20_000 })
    paidBefore = await old.claim(1_000)
    await indexer.stop()
    indexer = await start(named(usdt))
    paidAfter = await young.claim(2_000)
  })
  after(async () => {
    await indexer.stop()
    await Promise.all([chain.stop(), database.drop()])
  })

  it('does not pay for what names another, nor is paid for by another', { timeout }, async () => {
    const { usdc, usdt } = chain.tokens
    const wrong = [
      [await pay(usdt, paidBefore.due), paidBefore.paymentId],
      [await pay(usdc, paidAfter.due), paidAfter.paymentId],
    ]
    const read = () => database.db<{ txHash: string; reason: string; candidates: string[] }[]>`
      select tx_hash, reason, candidates from transfers where state = 'UNMATCHED' order by block_number`
    await until(async () => (await read()).length === 2, { what: 'both are seen' })
    assert.deepEqual(
      (await read()).map(({ txHash, reason, candidates }) => [txHash, reason, ...candidates]),
      wrong.map(([txHash, paymentId]) => [txHash, 'WRONG_TOKEN', paymentId]),
    )
    // Something near is nobody's but of those who wait for that contract.
    await pay(usdt, paidBefore.due + 1n)
    await young.untilStatus(paidAfter.paymentId, 'DETECTED')
    assert.equal(await old.statusOf(paidBefore.paymentId), 'PENDING')
  })

  it('is watched on while payments name it, and confirms them', { timeout }, async () => {
    await pay(chain.tokens.usdc, paidBefore.due)
    await old.untilStatus(paidBefore.paymentId, 'DETECTED')
    await chain.mine(3)
    await old.untilStatus(paidBefore.paymentId, 'CONFIRMED')
    assert.equal(await old.heldCount(), 0)
  })

  it('is read no longer when none can, and what is stored of it stays as it is', {
    timeout,
  }, async () => {
    const { db } = database
    const { usdc, usdt } = chain.tokens
    const base = { ...chain.deployments().base, tokens: named(usdt) }
    const retire = (hours: number) => db`
      update token_contracts set retired_at = service_now() - make_interval(hours => ${hours})
      where contract = ${usdc}`
    await retire(48 + QUARANTINE_HOURS - 1)
    assert.deepEqual(
      (await readRetired(db, base, QUARANTINE_HOURS)).map(({ contract }) => contract),
      [usdc],
    )
    await retire(48 + QUARANTINE_HOURS + 1)
    assert.deepEqual([...(await readRetired(db, base, QUARANTINE_HOURS))], [])
    await indexer.stop()
    indexer = await start(named(usdt))
    const requestId = newId('req')
    const [{ to } = { to: 0 }] = await db<{ to: number }[]>`
      select audited_number as to from deployments`
    await db`
      insert into requests (request_id, kind, subject, body)
      values (${requestId}, ${RESCAN_KIND}, 'base:test', ${db.json({ fromBlock: 0, toBlock: to })})`
    const result = await until(
      async () => {
        const [row] = await db<{ result: { foundCount: number; heldCount: number } }[]>`
          select result from requests where request_id = ${requestId} and done_at is not null`
        return row?.result
      },
      { what: 'the rescan is done', timeoutMs: 20_000 },
    )
    assert.deepEqual([result.foundCount, result.heldCount], [0, 0])
    assert.equal(await old.heldCount(), 0)
  })

  it('is told of loudly when payments name it and it is not watched', { timeout }, async () => {
    await old.claim(3_000)
    const told = () => lines.filter((line) => /a token contract that is not watched/.test(line))
    await until(() => told().length > 0, { what: 'it is told', timeoutMs: 15_000 })
    assert.ok(told()[0]?.includes(chain.tokens.usdc))
  })
})
