import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerCall } from '#shared/start/solana/methods.ts'
import type { SvmChain } from './svm.ts'
import { type Following, type FollowingOptions, startFollowing } from './svm-follow.ts'
import { until } from './until.ts'

/** Milliseconds: the slowest waits for a dead socket to be noticed. */
const timeout = 60_000

type Fault = {
  name: string
  rpc?: FollowingOptions['rpc']
  /** Plays the fault around payments; every payment it leaves has to end as the chain says. */
  play(following: Following): Promise<void>
}

/** The first provider is the chain's own node, the second another one that is well. */
const twoNodes = async (chain: SvmChain) => {
  const second = await chain.addNode()
  // Other hosts of the same machine: a websocket and an HTTP endpoint of one host count as one provider.
  return [chain.node.wsUrl, chain.node.httpUrl, second.httpUrl.replace('127.0.0.1', 'localhost')]
}

const FAULTS: readonly Fault[] = [
  {
    name: 'nothing wrong',
    async play(following) {
      await payAndSettle(following, 1_000)
    },
  },
  {
    name: 'slots are skipped before, between and after',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(1_100)
      chain.ledger.skip(70)
      await chain.pay({ to: following.address, amountBaseUnits: due, isQueued: true })
      chain.produce(1)
      chain.ledger.skip(5)
      chain.produce(2)
      await following.untilStatus(paymentId, 'DETECTED', { isProducing: false })
      chain.ledger.skip(200)
      await following.untilStatus(paymentId, 'CONFIRMED')
    },
  },
  {
    name: 'a fork takes the payment away for good',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(1_200)
      chain.produce(2)
      const before = chain.ledger.checkpoint()
      await chain.pay({ to: following.address, amountBaseUnits: due })
      await following.untilStatus(paymentId, 'DETECTED', { isProducing: false })
      chain.ledger.rewind(before)
      await following.untilStatus(paymentId, 'PENDING')
      chain.finalize()
      await payAndSettle(following, 1_201)
      assert.equal(await following.statusOf(paymentId), 'PENDING')
    },
  },
  {
    name: 'a fork moves the payment to another slot',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(1_300)
      chain.produce(2)
      const before = chain.ledger.checkpoint()
      await chain.pay({ to: following.address, amountBaseUnits: due, isQueued: true })
      chain.produce(2)
      const wire = chain.ledger.blocks.at(-2)?.transactions[0]?.wire
      assert.ok(wire)
      await following.untilStatus(paymentId, 'DETECTED', { isProducing: false })
      chain.ledger.rewind(before)
      chain.ledger.skip(1)
      chain.produce(2)
      chain.ledger.submit(wire)
      await following.untilStatus(paymentId, 'CONFIRMED')
    },
  },
  {
    name: 'a fork puts the payment into the same slot of another block',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(1_350)
      chain.produce(2)
      const before = chain.ledger.checkpoint()
      await chain.pay({ to: following.address, amountBaseUnits: due })
      const wire = chain.ledger.blocks.at(-2)?.transactions[0]?.wire
      assert.ok(wire)
      await following.untilStatus(paymentId, 'DETECTED', { isProducing: false })
      chain.ledger.rewind(before)
      chain.ledger.submit(wire)
      await following.untilStatus(paymentId, 'CONFIRMED')
    },
  },
  {
    name: 'notifications are lost while the socket lives: it is replaced within 15 s',
    async play(following) {
      const { faults, calls } = following.chain.node
      const subscribed = calls.get('slotSubscribe') ?? 0
      faults.isMute = true
      await payAndSettle(following, 1_400)
      await until(() => (calls.get('slotSubscribe') ?? 0) > subscribed, {
        what: 'another connection',
        timeoutMs: 15_000,
      })
    },
  },
  {
    name: 'there is no websocket',
    rpc: ({ node }) => [node.httpUrl],
    async play(following) {
      await payAndSettle(following, 1_410)
    },
  },
  {
    name: 'there is nothing but a websocket',
    rpc: ({ node }) => [node.wsUrl],
    async play(following) {
      const timer = setInterval(() => following.chain.node.cutWebsockets(), 2_000)
      try {
        await payAndSettle(following, 1_420)
      } finally {
        clearInterval(timer)
      }
    },
  },
  {
    name: 'the websocket is cut again and again',
    async play(following) {
      const timer = setInterval(() => following.chain.node.cutWebsockets(), 150)
      try {
        await payAndSettle(following, 1_500)
      } finally {
        clearInterval(timer)
      }
    },
  },
  {
    name: 'the only node is a black hole for a while',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(1_600)
      chain.node.faults.isBlackHole = true
      await chain.pay({ to: following.address, amountBaseUnits: due })
      setTimeout(() => {
        chain.node.faults.isBlackHole = false
      }, 2_000)
      await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
    },
  },
  {
    name: 'the first of two nodes lags',
    rpc: twoNodes,
    async play(following) {
      following.chain.node.faults.lagBlocks = 20
      await payAndSettle(following, 1_700)
    },
  },
  {
    name: 'the only node lags and catches up',
    async play(following) {
      const { chain } = following
      chain.node.faults.lagBlocks = 20
      const { paymentId, due } = await following.claim(1_800)
      await chain.pay({ to: following.address, amountBaseUnits: due })
      chain.produce(10)
      chain.node.faults.lagBlocks = 0
      await following.untilStatus(paymentId, 'CONFIRMED')
    },
  },
  {
    name: 'the first of two nodes has forgotten everything',
    rpc: twoNodes,
    async play(following) {
      const { chain } = following
      await following.stop()
      const { paymentId, due } = await following.claim(1_900)
      await chain.pay({ to: following.address, amountBaseUnits: due })
      chain.produce(50)
      chain.node.faults.prunedBelow = chain.ledger.tip.slot - 3
      await following.start()
      await following.untilStatus(paymentId, 'CONFIRMED')
      chain.node.faults.prunedBelow = 0
    },
  },
  {
    name: 'the first of two nodes leaves the payment out: the second reading finds it',
    rpc: twoNodes,
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(2_000)
      const txHash = await chain.pay({
        to: following.address,
        amountBaseUnits: due,
        isQueued: true,
      })
      chain.node.faults.hidden = new Set([txHash])
      await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
      chain.node.faults.hidden = new Set()
    },
  },
  {
    name: 'the only node leaves a payment out of its lists of signatures: balances tell of it',
    async play(following) {
      await payUnseen(following, 2_020, {
        getSignaturesForAddress: (found, txHash) =>
          (found as { signature: string }[]).filter(({ signature }) => signature !== txHash),
      })
    },
  },
  {
    name: 'the only node leaves a payment out of its blocks: balances tell of it',
    async play(following) {
      await payUnseen(following, 2_030, {
        getBlock(found, txHash) {
          const block = found as { transactions?: { transaction: { signatures: string[] } }[] }
          const isOther = ({ transaction }: { transaction: { signatures: string[] } }) =>
            transaction.signatures[0] !== txHash
          return block.transactions
            ? { ...block, transactions: block.transactions.filter(isOther) }
            : block
        },
      })
    },
  },
  {
    name: 'the only node leaves a payment out of everything: an alarm, and nothing counts as read twice',
    async play(following) {
      const { chain, database } = following
      await payAndSettle(following, 2_040)
      const { paymentId, due } = await following.claim(2_041)
      chain.produce(40)
      const auditedNumber = async () => {
        const [row] = await database.db<{ auditedNumber: number }[]>`
          select audited_number from deployments`
        return row?.auditedNumber ?? 0
      }
      const txHash = await chain.pay({
        to: following.address,
        amountBaseUnits: due,
        isQueued: true,
      })
      chain.node.faults.hidden = new Set([txHash])
      const { slot } = chain.ledger.produce()
      const isAlarm = ({ level, message }: Following['lines'][number]) =>
        level === 'error' && message.includes('contradicts itself')
      await until(
        () => {
          chain.produce(2)
          return following.lines.some(isAlarm)
        },
        { what: 'an alarm', timeoutMs: 25_000 },
      )
      assert.ok((await auditedNumber()) < slot)
      assert.equal(await following.statusOf(paymentId), 'PENDING')
      chain.node.faults.hidden = new Set()
      await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
    },
  },
  {
    name: 'the node shows a payment late, after its block',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(2_100)
      const txHash = await chain.pay({
        to: following.address,
        amountBaseUnits: due,
        isQueued: true,
      })
      chain.node.faults.hidden = new Set([txHash])
      chain.produce(2)
      await new Promise((done) => setTimeout(done, 1_000))
      chain.node.faults.hidden = new Set()
      await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
    },
  },
  {
    name: 'the node refuses with 429, then with 500',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(2_200)
      chain.node.faults.httpStatus = 429
      await chain.pay({ to: following.address, amountBaseUnits: due })
      await new Promise((done) => setTimeout(done, 500))
      chain.node.faults.httpStatus = 500
      await new Promise((done) => setTimeout(done, 500))
      chain.node.faults.httpStatus = undefined
      await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
    },
  },
  {
    name: 'the list of blocks leaves out the slot of the payment',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(2_300)
      await chain.pay({ to: following.address, amountBaseUnits: due, isQueued: true })
      const hole = chain.ledger.tip.slot + 1
      chain.node.faults.intercept = (method, [from, to]) => {
        if (method !== 'getBlocks') return undefined
        const slots = chain.ledger.blocks.map(({ slot }) => slot)
        const tip = chain.ledger.at('confirmed').slot
        const isShown = (slot: number) => slot >= Number(from) && slot <= Number(to) && slot <= tip
        return { result: slots.filter((slot) => isShown(slot) && slot !== hole) }
      }
      chain.produce(3)
      await following.untilStatus(paymentId, 'CONFIRMED')
      chain.node.faults.intercept = undefined
    },
  },
  {
    name: 'a transaction of an unknown version: an alarm, never a skip',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(2_400)
      const slot = chain.ledger.tip.slot + 1
      const message = 'Transaction version (2) is not supported by the requesting client.'
      chain.node.faults.intercept = (method, [of, config]) => {
        // A header alone has no transactions to be refused for.
        const { transactionDetails } = (config ?? {}) as { transactionDetails?: string }
        const isBlock = method === 'getBlock' && of === slot && transactionDetails === 'accounts'
        const isIt = isBlock || method === 'getTransaction'
        return isIt ? { error: { code: -32_015, message } } : undefined
      }
      await chain.pay({ to: following.address, amountBaseUnits: due })
      const isAlarm = ({ level, message: text }: Following['lines'][number]) =>
        level === 'error' && text.includes('version')
      await until(() => following.lines.some(isAlarm), { what: 'an alarm', timeoutMs: 10_000 })
      assert.equal(await following.statusOf(paymentId), 'PENDING')
      chain.node.faults.intercept = undefined
      await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
    },
  },
  {
    name: 'it never ran before the payment was made, and nodes have forgotten where the chain began',
    async play(following) {
      const { chain, database } = following
      const { paymentId, due } = await following.claim(2_450)
      await following.stop()
      await database.db`
        update deployments set block_number = null, block_hash = null, audited_number = null`
      await database.db`delete from blocks`
      chain.produce(100)
      chain.node.faults.prunedBelow = chain.ledger.tip.slot - 10
      await chain.pay({ to: following.address, amountBaseUnits: due })
      chain.produce(100)
      await following.start()
      await following.untilStatus(paymentId, 'CONFIRMED')
      chain.node.faults.prunedBelow = 0
    },
  },
  {
    name: 'the indexer is down while it is paid',
    async play(following) {
      const { chain } = following
      const { paymentId, due } = await following.claim(2_500)
      await following.stop()
      await chain.pay({ to: following.address, amountBaseUnits: due })
      chain.produce(300)
      chain.ledger.skip(90)
      chain.produce(100)
      await following.start()
      await following.untilStatus(paymentId, 'CONFIRMED')
    },
  },
]

/** A test per fault of this family's nodes, with Solana read in one way. Each ends before the oracle. */
export function playFaults(reading: 'accounts' | 'blocks'): void {
  for (const { name, rpc, play } of FAULTS) {
    test(`by ${reading}: ${name}`, { timeout }, async () => {
      const following = await startFollowing({ reading, ...(rpc ? { rpc } : {}) })
      try {
        await play(following)
        const hole = following.chain.node.faults
        Object.assign(hole, { isMute: false, lagBlocks: 0, intercept: undefined })
        // Whatever was seen last is final before the judge compares.
        await payAndSettle(following, 9_900)
        await following.stop()
        await following.judge()
      } finally {
        await following.close()
      }
    })
  }
}

/** A payment that one of the node's methods never tells of; what it answers is changed by these. It counts all the same. */
async function payUnseen(
  following: Following,
  amountCents: number,
  changes: Record<string, (found: unknown, txHash: string) => unknown>,
): Promise<void> {
  const { chain } = following
  const { node, ledger } = chain
  await payAndSettle(following, amountCents)
  const { paymentId, due } = await following.claim(amountCents + 1)
  const txHash = await chain.pay({ to: following.address, amountBaseUnits: due, isQueued: true })
  node.faults.intercept = (method, params) => {
    const change = changes[method]
    return (
      change && { result: change(answerCall({ ledger, ...node.faults }, method, params), txHash) }
    )
  }
  await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 40_000 })
}

async function payAndSettle(following: Following, amountCents: number): Promise<void> {
  const { chain, address } = following
  const { paymentId, due } = await following.claim(amountCents)
  await chain.pay({ to: address, amountBaseUnits: due })
  await following.untilStatus(paymentId, 'CONFIRMED', { timeoutMs: 30_000 })
}
