import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { DEV_ACCOUNTS, deployToken, mint } from '#shared/start/tokens/token.ts'
import type { Driver, DriverDeps, Observation } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { RpcError, type RpcErrorKind } from '../../indexer/rpc-error.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { LOG_LIES, type LyingRpc, type RpcLog, startLyingRpc } from '../support/lying-rpc.ts'
import { until } from '../support/until.ts'

/** EIP-55, mixed case. */
const SELLER = '0x52908400098527886E0F7030069857D2E4169EE7'
const OTHER = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'

let chain: TestChain
let first: LyingRpc
let second: LyingRpc
const open: Driver[] = []

/** A driver that reads through the first lying node, or through what `rpc` names. */
function connect(changes: Partial<Deployment> & Partial<DriverDeps> = {}): Driver {
  const { nowMs = Date.now, log = silentLog, ...row } = changes
  const rpc = [first.httpUrl]
  const deployment = { ...chain.deployments({ rpc }).base, ...row } as Deployment
  const driver = createDriver({ deployment, log, nowMs })
  open.push(driver)
  return driver
}

const both = () => connect({ rpc: [first.httpUrl, second.httpUrl] })
const pay = (amountBaseUnits: bigint, to = SELLER) =>
  chain.pay({ token: chain.tokens.usdc, to, amountBaseUnits })
const amounts = (transfers: Observation[]) => transfers.map((one) => one.amountBaseUnits)
const isKind = (kind: RpcErrorKind) => (error: unknown) =>
  error instanceof RpcError && error.kind === kind

describe('the EVM driver reads', () => {
  before(async () => {
    chain = await startTestChain()
    first = await startLyingRpc(chain)
    second = await startLyingRpc(chain)
  })
  after(async () => {
    await Promise.all([first.stop(), second.stop()])
    await chain.stop()
  })
  afterEach(async () => {
    for (const driver of open.splice(0)) await driver.stop()
    for (const node of [first, second]) node.lie()
  })

  it('the newest block, a block by its height, and nothing above the head', async () => {
    const driver = connect()
    const { number, hash, parentHash, timestamp } = await chain.head()
    const expected = { number, hash, parentHash, timeMs: timestamp * 1_000 }
    assert.deepEqual(await driver.head(), expected)
    assert.deepEqual(await driver.block(number), expected)
    assert.equal((await driver.block(number - 1))?.hash, parentHash)
    assert.equal(await driver.block(number + 1), undefined)
    assert.equal(await driver.blockWithTransfers(number + 1), undefined)
  })

  it('a transfer with everything it is known by', async () => {
    const txHash = await pay(1_234_567n)
    const { number, hash, timestamp } = await chain.head()
    const reading = await connect().blockWithTransfers(number)
    assert.equal(reading?.block.hash, hash)
    assert.deepEqual(
      reading?.transfers.map((one) => ({ ...one })),
      [
        {
          ...{ blockNumber: number, blockHash: hash, blockTimeMs: timestamp * 1_000 },
          ...{ txHash, index: 0, contract: chain.tokens.usdc, amountBaseUnits: 1_234_567n },
          ...{ from: DEV_ACCOUNTS[0], fromKey: DEV_ACCOUNTS[0].toLowerCase() },
          ...{ to: SELLER, toKey: SELLER.toLowerCase() },
        },
      ],
    )
  })

  it('several payments of one transaction as transfers of their own', async () => {
    const payments = [5n, 6n, 5n].map((amountBaseUnits) => ({ to: SELLER, amountBaseUnits }))
    const txHash = await chain.payBatch(chain.tokens.usdc, payments)
    const { number } = await chain.head()
    const transfers = (await connect().blockWithTransfers(number))?.transfers ?? []
    assert.deepEqual(amounts(transfers), [5n, 6n, 5n])
    assert.deepEqual(
      transfers.map((one) => [one.txHash, one.index]),
      [
        [txHash, 0],
        [txHash, 1],
        [txHash, 2],
      ],
    )
  })

  it('no transfer of another token, and amounts beyond 2^64 to the last digit', async () => {
    const amountBaseUnits = 123_456_789_012_345_678_901_234_567n
    await chain.pay({ token: chain.tokens.usdc18, to: SELLER, amountBaseUnits })
    const { number } = await chain.head()
    assert.deepEqual((await connect().blockWithTransfers(number))?.transfers, [])
    const { tokens } = chain.deployments().bnb
    const transfers = (await connect({ tokens }).blockWithTransfers(number))?.transfers ?? []
    assert.deepEqual(amounts(transfers), [amountBaseUnits])
  })

  it('what arrived, not what was sent, of a token that keeps a fee', async () => {
    const fee = { name: 'Fee', symbol: 'FEE', decimals: 6, feeBasisPoints: 100 }
    const token = await deployToken(chain.httpUrl, fee)
    await mint(chain.httpUrl, { token, to: DEV_ACCOUNTS[0], amountBaseUnits: 10_000n })
    await chain.pay({ token, to: SELLER, amountBaseUnits: 10_000n })
    const { number } = await chain.head()
    const driver = connect({ tokens: { usdc: { contract: token, decimals: 6 } } })
    const transfers = (await driver.blockWithTransfers(number))?.transfers ?? []
    assert.deepEqual(amounts(transfers.filter((one) => one.to === SELLER)), [9_900n])
  })

  it('logs by the hash of the block, without asking for a header it was just told', async () => {
    await pay(1n)
    const driver = connect()
    const head = await driver.head()
    const asked = first.requests().length
    await driver.blockWithTransfers(head.number)
    const requests = first.requests().slice(asked)
    assert.equal(requests.length, 1)
    assert.match(requests[0] ?? '', new RegExp(`"blockHash":"${head.hash}"`))
  })

  it('the block that is there now when the one it was told of left the chain', async () => {
    await pay(70n)
    const driver = connect()
    const before = await driver.head()
    await chain.reorg(1)
    const reading = await driver.blockWithTransfers(before.number)
    assert.notEqual(reading?.block.hash, before.hash)
    assert.deepEqual(reading?.transfers, [])
  })

  it('the same transaction on two branches as two transfers', async () => {
    const txHash = await pay(71n)
    const { number } = await chain.head()
    const driver = connect()
    const [before] = (await driver.blockWithTransfers(number))?.transfers ?? []
    await chain.reorg(1, [txHash])
    const [now] = (await driver.blockWithTransfers(number))?.transfers ?? []
    assert.deepEqual([before?.txHash, now?.txHash], [txHash, txHash])
    assert.notEqual(before?.blockHash, now?.blockHash)
  })

  it('logs told twice or out of order once and in order', async () => {
    await chain.payBatch(
      chain.tokens.usdc,
      [1n, 2n, 3n].map((amountBaseUnits) => ({ to: OTHER, amountBaseUnits })),
    )
    const { number } = await chain.head()
    const driver = connect()
    for (const logs of [LOG_LIES.duplicated, LOG_LIES.reordered]) {
      first.lie({ logs })
      const { transfers } = (await driver.blockWithTransfers(number)) ?? { transfers: [] }
      assert.deepEqual(amounts(transfers), [1n, 2n, 3n])
      assert.deepEqual(amounts((await driver.rangeWithTransfers(number, number)).transfers), [
        1n,
        2n,
        3n,
      ])
    }
  })

  const lies = {
    removed: 'inconsistent',
    wrongHash: 'inconsistent',
    malformed: 'malformed',
    notAList: 'malformed',
  } as const
  for (const [name, kind] of Object.entries(lies)) {
    it(`nothing at all from logs that are ${name}, and the truth from the next provider`, async () => {
      await pay(9n)
      const { number } = await chain.head()
      first.lie({ logs: LOG_LIES[name as keyof typeof lies] })
      await assert.rejects(connect().blockWithTransfers(number), isKind(kind))
      await assert.rejects(connect().rangeWithTransfers(number, number), isKind(kind))
      assert.deepEqual(amounts((await both().blockWithTransfers(number))?.transfers ?? []), [9n])
      assert.deepEqual(amounts((await both().rangeWithTransfers(number, number)).transfers), [9n])
    })
  }

  it('no answer of two logs in one place, or of another height', async () => {
    await pay(9n)
    const { number } = await chain.head()
    const other = (log: RpcLog) => ({ ...log, data: `0x${'11'.repeat(32)}` })
    first.lie({ logs: (logs) => [...logs, ...logs.map(other)] })
    await assert.rejects(connect().blockWithTransfers(number), isKind('inconsistent'))
    first.lie({ logs: (logs) => logs.map((log) => ({ ...log, blockNumber: '0x1' })) })
    await assert.rejects(connect().rangeWithTransfers(number - 1, number), isKind('inconsistent'))
    first.lie({ results: { eth_getBlockByNumber: () => ({ number: '0x1', hash: 'x' }) } })
    await assert.rejects(connect().block(number), isKind('malformed'))
  })

  it('an error from a lagging node, never an empty range, and the truth from the next provider', async () => {
    await pay(11n)
    const { number } = await chain.head()
    first.lie({ headMax: number - 1 })
    await assert.rejects(connect().rangeWithTransfers(number - 1, number), isKind('lagging'))
    const { transfers, last } = await both().rangeWithTransfers(number, number)
    assert.equal(last.number, number)
    assert.deepEqual(amounts(transfers), [11n])
  })

  it('a wide range in narrower steps when the node refuses, whatever its words, and wider ones again later', {
    timeout: 30_000,
  }, async () => {
    await chain.mine(40)
    const { number } = await chain.head()
    const dialects = [
      { code: -32_005, message: 'query returned more than 10000 results' },
      {
        code: -32_602,
        message: 'Log response size exceeded. this block range should work: [0x1, 0x2]',
      },
      { code: -32_000, message: 'exceed maximum block range: 50000' },
      { code: 35, message: 'ranges over 10000 blocks are not supported on freetier' },
    ]
    for (const dialect of dialects) {
      const driver = connect()
      first.lie({ rangeBlocksMax: { blocks: 7, ...dialect } })
      const { last } = await driver.rangeWithTransfers(1, number)
      assert.ok(last.number >= 3 && last.number <= 7, `got to ${last.number}`)
      first.lie()
      const counts: number[] = []
      for (let from = last.number + 1; from <= number; from = (counts.at(-1) ?? 0) + 1) {
        counts.push((await driver.rangeWithTransfers(from, number)).last.number)
      }
      assert.ok(counts.length > 1 && (counts[0] ?? 0) < number, 'it grows slowly')
    }
  })

  it('from the next provider what the first refuses although every node could answer it', async () => {
    await pay(12n)
    const { number } = await chain.head()
    const pruned = { code: -32_000, message: 'missing trie node' }
    first.lie({ errors: { eth_getLogs: pruned } })
    await assert.rejects(connect().rangeWithTransfers(1, 5), isKind('unable'))
    await assert.rejects(connect().blockWithTransfers(number), isKind('unable'))
    assert.deepEqual(amounts((await both().rangeWithTransfers(number, number)).transfers), [12n])
    assert.deepEqual(amounts((await both().blockWithTransfers(number))?.transfers ?? []), [12n])
    first.lie({ errors: { eth_getBlockByNumber: pruned } })
    await assert.rejects(connect().head(), isKind('unable'))
    assert.equal((await both().head()).number, number)
    assert.equal((await both().block(number))?.number, number)
  })

  it('times from headers, of blocks with transfers only, where logs do not tell them', async () => {
    const from = (await chain.head()).number + 1
    await pay(21n)
    await chain.mine(5, 60)
    await pay(22n)
    await chain.mine(2)
    const to = (await chain.head()).number
    const truth = await connect().rangeWithTransfers(from, to)
    first.lie({ logs: LOG_LIES.withoutTime })
    const before = first.calls()['eth_getBlockByNumber'] ?? 0
    const reading = await connect().rangeWithTransfers(from, to)
    const headerCount = (first.calls()['eth_getBlockByNumber'] ?? 0) - before
    assert.deepEqual(amounts(reading.transfers), [21n, 22n])
    assert.deepEqual(
      reading.transfers.map((one) => one.blockTimeMs),
      truth.transfers.map((one) => one.blockTimeMs),
    )
    assert.equal(
      headerCount,
      3,
      'the ends of the range, of which one has a transfer, and the other',
    )
  })

  it('the same transfers in ranges as block by block', async () => {
    const { number } = await chain.head()
    const driver = connect()
    const single: Observation[] = []
    for (let height = 0; height <= number; height += 1) {
      single.push(...((await driver.blockWithTransfers(height))?.transfers ?? []))
    }
    const ranges: Observation[] = []
    for (let from = 0; from <= number; ) {
      const { last, transfers } = await driver.rangeWithTransfers(from, number)
      ranges.push(...transfers)
      from = last.number + 1
    }
    const plain = (transfers: Observation[]) => transfers.map((one) => ({ ...one }))
    assert.ok(single.length > 10)
    assert.deepEqual(plain(ranges), plain(single))
  })

  it('which block a range follows', async () => {
    const { number } = await chain.head()
    const driver = connect()
    for (const from of [number - 3, number]) {
      const { parentHash } = await driver.rangeWithTransfers(from, number)
      assert.equal(parentHash, (await driver.block(from - 1))?.hash)
    }
  })

  it('the next two ranges ahead of time while far behind, and drops them when another is asked for', async () => {
    await chain.mine(100)
    await pay(31n)
    await chain.mine(60)
    const driver = connect()
    const { number: head } = await driver.head()
    const from = head - 99
    const requests = () => first.requests().length
    const before = requests()
    const start = await driver.rangeWithTransfers(from, from + 59)
    await until(() => requests() === before + 3, { what: 'the next two ranges are asked for' })
    const next = await driver.rangeWithTransfers(start.last.number + 1, from + 59)
    assert.equal(next.parentHash, start.last.hash)
    assert.deepEqual(amounts(next.transfers), [31n])
    const last = await driver.rangeWithTransfers(next.last.number + 1, from + 59)
    assert.equal(last.parentHash, next.last.hash)
    assert.deepEqual(amounts(last.transfers), [])
    assert.equal(last.last.number, from + 59)
    const again = await driver.rangeWithTransfers(from + 30, from + 49)
    assert.deepEqual(amounts(again.transfers), [31n])
    assert.equal(again.last.number, from + 49)
  })

  it('nothing ahead of time near the head, where blocks may still be replaced', async () => {
    const driver = connect()
    const { number } = await driver.head()
    const before = first.requests().length
    await driver.rangeWithTransfers(number - 30, number - 20)
    await driver.block(number)
    assert.equal(first.requests().length, before + 2)
  })

  it('another provider’s head when the first stands still', async () => {
    const { number } = await chain.head()
    await chain.mine(2)
    first.lie({ headMax: number })
    const later = () => Date.now() + 3_600_000
    const driver = connect({ rpc: [first.httpUrl, second.httpUrl], nowMs: later })
    assert.equal((await driver.head()).number, number + 2)
    assert.equal((await driver.head()).number, number + 2)
    assert.equal(driver.health().provider, new URL(second.httpUrl).host)
  })
})
