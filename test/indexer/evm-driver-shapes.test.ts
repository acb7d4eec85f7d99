import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertWithin } from '../../indexer/drivers/evm-read.ts'
import {
  readHeader,
  readQuantity,
  readTransfers,
  TRANSFER_TOPIC,
  toObservation,
} from '../../indexer/drivers/evm-shapes.ts'
import { RpcError } from '../../indexer/rpc-error.ts'

const HOST = 'node.example'
const CONTRACT = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const contracts = new Map([[CONTRACT.toLowerCase(), CONTRACT]])
const word = (end: string) => `0x${end.padStart(64, '0')}`
const FROM = '52908400098527886e0f7030069857d2e4169ee7'
const TO = '8617e340b3d01fa5f11f306f4090fd50e238070d'

const LOG = {
  address: CONTRACT.toLowerCase(),
  topics: [TRANSFER_TOPIC, word(FROM), word(TO)],
  data: word('f4240'),
  blockNumber: '0x10',
  blockHash: word('b10c'),
  blockTimestamp: '0x6b01861b',
  transactionHash: word('7a'),
  transactionIndex: '0x2',
  logIndex: '0x5',
  removed: false,
}
const read = (...logs: unknown[]) => readTransfers(logs, contracts, HOST)
const isKind = (kind: string) => (error: unknown) =>
  error instanceof RpcError && error.kind === kind && error.message.startsWith(HOST)

describe('EVM shapes', () => {
  it('a Transfer log becomes a transfer, its addresses in EIP-55 when asked for', () => {
    const [transfer] = read(LOG)
    assert.ok(transfer)
    assert.deepEqual(
      { ...toObservation(transfer, 7_000) },
      {
        ...{ blockNumber: 16, blockHash: LOG.blockHash, blockTimeMs: 7_000, index: 5 },
        ...{ txHash: LOG.transactionHash, contract: CONTRACT, amountBaseUnits: 1_000_000n },
        ...{ from: '0x52908400098527886E0F7030069857D2E4169EE7', fromKey: `0x${FROM}` },
        toKey: `0x${TO}`,
        to: '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
      },
    )
    assert.equal(transfer.blockTimeMs, 0x6b01861b * 1_000)
  })

  it('upper-case hex is the same transfer, in one spelling', () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`
    const log = {
      ...LOG,
      ...{ address: upper(LOG.address), topics: LOG.topics.map(upper), data: upper(LOG.data) },
      ...{ blockHash: upper(LOG.blockHash), transactionHash: upper(LOG.transactionHash) },
    }
    assert.deepEqual(read(log), read(LOG))
  })

  it('the largest amount keeps every digit', () => {
    const [transfer] = read({ ...LOG, data: `0x${'f'.repeat(64)}` })
    assert.equal(transfer?.amountBaseUnits, 2n ** 256n - 1n)
  })

  const ignored: Record<string, object> = {
    'of another contract': { address: `0x${'22'.repeat(20)}` },
    'of an NFT, whose id is a fourth topic': { topics: [...LOG.topics, word('1')], data: '0x' },
    'with its addresses in the data': {
      topics: [TRANSFER_TOPIC],
      data: `0x${'00'.repeat(96)}`,
    },
    'that is an Approval': { topics: [word('8c5be1e5'), word(FROM), word(TO)] },
    'with an address longer than an address': {
      topics: [TRANSFER_TOPIC, word(FROM), `0x1${word(TO).slice(3)}`],
    },
    'with two words of data': { data: `0x${'00'.repeat(64)}` },
    'without data': { data: '0x' },
    anonymous: { topics: [] },
  }
  for (const [name, change] of Object.entries(ignored)) {
    it(`a log ${name} is left out`, () => {
      assert.deepEqual(read({ ...LOG, ...change }, LOG), read(LOG))
    })
  }

  for (const [field, value] of Object.entries({
    blockNumber: null,
    blockHash: '0x12',
    transactionHash: undefined,
    logIndex: '5',
    topics: 'none',
    address: 5,
  })) {
    it(`a log with a malformed ${field} spoils the answer`, () => {
      assert.throws(() => read(LOG, { ...LOG, [field]: value }), isKind('malformed'))
    })
  }

  it('what is no list, or a list of what is no log, is malformed', () => {
    for (const value of [null, undefined, {}, 'logs', 7]) {
      assert.throws(() => readTransfers(value, contracts, HOST), isKind('malformed'))
    }
    for (const log of [null, 'log', 7]) assert.throws(() => read(log), isKind('malformed'))
  })

  it('a log marked as removed spoils the answer', () => {
    assert.throws(() => read({ ...LOG, removed: true }), isKind('inconsistent'))
  })

  it('two blocks at one height spoil the answer', () => {
    const other = { ...LOG, blockHash: word('0dd'), logIndex: '0x6' }
    assert.throws(() => read(LOG, other), isKind('inconsistent'))
  })

  it('logs outside of a range, or of another last block than its header, spoil the answer', () => {
    const last = { number: 16, hash: LOG.blockHash, parentHash: word('b'), timeMs: 0 }
    const within = (from: number, changes: object) => () =>
      assertWithin(read(LOG), from, { ...last, ...changes }, HOST)
    within(16, {})()
    within(1, { number: 17, hash: word('c') })()
    for (const [from, changes] of [
      [17, { number: 20 }],
      [1, { number: 15 }],
      [16, { hash: word('0dd') }],
    ] as const) {
      assert.throws(within(from, changes), isKind('inconsistent'))
    }
  })

  it('the same log twice is one transfer; two different ones in its place spoil the answer', () => {
    assert.equal(read(LOG, { ...LOG }).length, 1)
    for (const change of [{ data: word('1') }, { transactionHash: word('1') }]) {
      assert.throws(() => read(LOG, { ...LOG, ...change }), isKind('inconsistent'))
    }
  })

  it('a block time that is absent, zero or unreadable is unknown, not wrong', () => {
    for (const blockTimestamp of [undefined, null, '0x0', '1795262993', 1_795_262_993]) {
      assert.equal(read({ ...LOG, blockTimestamp })[0]?.blockTimeMs, undefined)
    }
  })

  it('a header has number, hashes and a time in seconds; null is no header', () => {
    const header = { number: '0x10', hash: word('a'), parentHash: word('b'), timestamp: '0x5' }
    assert.deepEqual(readHeader(header, HOST), {
      ...{ number: 16, hash: word('a'), parentHash: word('b'), timeMs: 5_000 },
    })
    assert.equal(readHeader(null, HOST), undefined)
    for (const field of Object.keys(header)) {
      assert.throws(() => readHeader({ ...header, [field]: 'x' }, HOST), isKind('malformed'))
    }
    assert.throws(() => readHeader(undefined, HOST), isKind('malformed'))
  })

  it('a quantity is hex digits after 0x, no larger than arithmetic is exact for', () => {
    assert.equal(readQuantity('0x1fffffffffff', 'n', HOST), 0x1fffffffffff)
    for (const value of ['0x', '10', '0xg', `0x1${'0'.repeat(14)}`, 10, null, '-0x1', ' 0x1']) {
      assert.throws(() => readQuantity(value, 'n', HOST), isKind('malformed'))
    }
  })
})
