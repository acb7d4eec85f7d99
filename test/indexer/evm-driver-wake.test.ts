import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { Driver, WakeReason } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { until } from '../support/until.ts'

const SELLER = '0x52908400098527886E0F7030069857D2E4169EE7'
const STRANGER = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'

let chain: TestChain
let node: LyingRpc
const open: Driver[] = []

function listen(rpc = [node.wsUrl, node.httpUrl]) {
  const deployment = chain.deployments({ rpc }).base
  const driver = createDriver({ deployment, log: silentLog, nowMs: Date.now })
  open.push(driver)
  const rings: WakeReason[] = []
  const handle = driver.wake((reason) => rings.push(reason))
  return { driver, rings, handle }
}

const pay = (to: string) => chain.pay({ token: chain.tokens.usdc, to, amountBaseUnits: 1n })
const connected = ({ rings }: { rings: WakeReason[] }, times = 1) =>
  until(() => rings.filter((one) => one === 'connected').length === times, {
    what: `it connected ${times} times`,
  })
/** A head that comes after everything before it has been told. */
async function untilHead({ rings }: { rings: WakeReason[] }): Promise<void> {
  const count = () => rings.filter((one) => one === 'head').length
  const before = count()
  await chain.mine()
  await until(() => count() > before, { what: 'a head rings' })
}

describe('the EVM driver rings', () => {
  before(async () => {
    chain = await startTestChain()
    node = await startLyingRpc(chain)
  })
  after(async () => {
    await node.stop()
    await chain.stop()
  })
  afterEach(async () => {
    for (const driver of open.splice(0)) await driver.stop()
    node.lie()
  })

  it('once when it is connected and at each head', async () => {
    const listener = listen()
    await connected(listener)
    await untilHead(listener)
    assert.deepEqual(listener.rings, ['connected', 'head'])
  })

  it('once more after each reconnect, since heads were missed', async () => {
    const listener = listen()
    await connected(listener)
    node.cut('reset')
    await connected(listener, 2)
    await untilHead(listener)
  })

  it('at transfers to watched recipients only, and to none when the list is empty or too long', async () => {
    const listener = listen()
    const { rings, handle } = listener
    const transferCount = () => rings.filter((one) => one === 'transfer').length
    await connected(listener)
    handle.watch([SELLER])
    await until(
      async () => {
        await pay(SELLER)
        return transferCount() > 0
      },
      { what: 'a transfer to the seller rings', everyMs: 100 },
    )
    await untilHead(listener)
    const heard = transferCount()
    await pay(STRANGER)
    await untilHead(listener)
    assert.equal(transferCount(), heard)
    const many = Array.from({ length: 101 }, () => SELLER)
    for (const recipients of [[], many]) {
      handle.watch(recipients)
      await until(
        async () => {
          const before = transferCount()
          await pay(SELLER)
          await untilHead(listener)
          return transferCount() === before
        },
        { what: 'it rings no more', everyMs: 300 },
      )
      handle.watch([SELLER])
    }
  })

  it('through the same subscription when it is told the same recipients again', async () => {
    const listener = listen()
    await connected(listener)
    const sent = node.subscriptionCount
    const before = sent() + 1
    listener.handle.watch([SELLER, STRANGER])
    await until(() => sent() === before, { what: 'the filter is subscribed' })
    for (let turn = 0; turn < 5; turn += 1) listener.handle.watch([STRANGER, SELLER])
    await untilHead(listener)
    assert.equal(sent(), before)
  })

  it('never without a websocket, and says that it cannot', async () => {
    const { driver, handle, rings } = listen([node.httpUrl])
    handle.watch([SELLER])
    await chain.mine()
    await driver.head()
    assert.deepEqual(rings, [])
    assert.equal(driver.health().socketAlive, false)
  })

  it('with its health told: socket, host, calls, and when the head last changed', async () => {
    const listener = listen()
    const { driver } = listener
    await connected(listener)
    assert.equal(driver.health().lastHeadAtMs, undefined)
    await driver.head()
    const { lastHeadAtMs, ...health } = driver.health()
    assert.deepEqual(health, {
      ...{ provider: new URL(node.httpUrl).host, callCount: 2, errorCount: 0 },
      providers: [{ callCount: 2, errorCount: 0 }],
      socketAlive: true,
    })
    await driver.head()
    assert.equal(driver.health().lastHeadAtMs, lastHeadAtMs)
    await untilHead(listener)
    assert.ok((driver.health().lastHeadAtMs ?? 0) > (lastHeadAtMs ?? 0))
  })

  it('no more when it is stopped, with no connection left', async () => {
    const listener = listen([node.wsUrl])
    await connected(listener)
    await listener.driver.head()
    await listener.driver.stop()
    await until(() => node.socketCount() === 0, { what: 'all connections end' })
    await assert.rejects(listener.driver.head(), /stopped/)
  })
})
