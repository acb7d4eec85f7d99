import { type Lies, LOG_LIES, type LyingRpc, type RpcLog } from './lying-rpc.ts'

/** Something a node, or the way to it, does wrong. */
export type Fault = {
  name: string
  /** What it answers wrongly from now on; `address` is whose transfers matter. */
  lies?: (facts: { address: string; head: number }) => Lies
  /** What is done to its connections, again and again while the fault lasts. */
  harm?: (node: LyingRpc) => void
  /** Undoes what `harm` left. */
  heal?: (node: LyingRpc) => void
  /** One provider alone can be lived with although the fault lasts. */
  isBearable?: boolean
  /** It ends with two providers, too: neither of them can be told to be right. */
  isTie?: boolean
}

const ofOthers = (address: string) => (logs: RpcLog[]) => {
  const word = address.slice(2).toLowerCase()
  return logs.filter((log) => !JSON.stringify(log['topics']).toLowerCase().includes(word))
}

type Receipt = { logs: RpcLog[] }
const receipts = (change: (logs: RpcLog[]) => RpcLog[]): Lies => ({
  results: {
    eth_getBlockReceipts: (result) =>
      (result as Receipt[]).map((one) => ({ ...one, logs: change(one.logs) })),
  },
})

const logLies: Fault[] = Object.entries(LOG_LIES)
  .filter(([name]) => name !== 'partial')
  .map(([name, logs]) => ({
    name: `logs: ${name}`,
    lies: () => ({ logs: logs as (logs: RpcLog[]) => unknown }),
    isBearable: !['removed', 'wrongHash', 'malformed', 'notAList'].includes(name),
  }))

/** Every lie and every fault of a socket that nodes were seen to have. */
export const FAULTS: readonly Fault[] = [
  { name: 'none', isBearable: true },
  ...logLies,
  {
    name: 'logs: ours are missing',
    lies: ({ address }) => ({ logs: ofOthers(address) }),
    isBearable: true,
  },
  { name: 'receipts: without logs', lies: () => receipts(() => []), isBearable: true },
  { name: 'receipts: invented', lies: () => receipts(LOG_LIES.invented), isBearable: true },
  { name: 'pruned history', lies: ({ head }) => ({ historyFrom: head }) },
  { name: 'no old states', lies: ({ head }) => ({ statesFrom: head }), isBearable: true },
  { name: 'another branch', lies: ({ head }) => ({ forkFrom: head - 1 }), isTie: true },
  { name: 'lagging', lies: ({ head }) => ({ headMax: head }) },
  { name: '429', lies: () => ({ status: { status: 429, retryAfterSeconds: 1 } }) },
  { name: '500', lies: () => ({ status: { status: 500 } }) },
  { name: 'narrow ranges', lies: () => ({ rangeBlocksMax: { blocks: 3 } }), isBearable: true },
  {
    name: 'no receipts',
    lies: () => ({ missingMethods: ['eth_getBlockReceipts'] }),
    isBearable: true,
  },
  { name: 'no batches', lies: () => ({ noBatches: true }) },
  { name: 'no JSON', lies: () => ({ body: '<html>' }) },
  { name: 'slow', lies: () => ({ delayMs: 700 }), isBearable: true },
  { name: 'requests reset', lies: () => ({ requests: 'reset' }) },
  { name: 'requests hang', lies: () => ({ requests: 'hang' }) },
  { name: 'notifications dropped', lies: () => ({ droppedNotifications: true }), isBearable: true },
  { name: 'connections cut', harm: (node) => node.cut('reset'), isBearable: true },
  {
    name: 'black hole',
    harm: (node) => node.blackHole(true),
    heal: (node) => node.blackHole(false),
  },
]

/** Nodes that leave payments out of their logs for good, with the states of old blocks and without. */
export const LONG_FAULTS: readonly Fault[] = [
  { name: 'empty', logs: () => LOG_LIES.empty },
  { name: 'truncated', logs: () => LOG_LIES.truncated },
  { name: 'ours are missing', logs: ofOthers },
].flatMap(({ name, logs }) => [
  { name: `logs: ${name}`, lies: ({ address }) => ({ logs: logs(address) }), isBearable: true },
  {
    name: `logs: ${name}, no old states`,
    lies: ({ address, head }) => ({ logs: logs(address), statesFrom: head }),
    isBearable: true,
  },
])
