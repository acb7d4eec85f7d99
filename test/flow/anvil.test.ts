import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { silentLog } from '#shared/log.ts'
import { ANVIL_STOP_TIMEOUT_MS, type RunningAnvil, startAnvil } from '#shared/start/anvil.ts'
import {
  DEV_ACCOUNTS,
  deployToken,
  localCall,
  mint,
  untilMined,
} from '#shared/start/tokens/token.ts'
import { until } from '../support/until.ts'

const timeout = 30_000
const log = silentLog
type Block = { number: string; hash: string; timestamp: string }

let base: string
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'anvil-'))
})
after(() => rm(base, { recursive: true, force: true }))

const blockAt = ({ httpUrl }: { httpUrl: string }, at: string) =>
  localCall<Block | null>(httpUrl, 'eth_getBlockByNumber', [at, false])
const newest = async (chain: { httpUrl: string }) => {
  const block = await blockAt(chain, 'latest')
  assert.ok(block)
  return block
}
const logsOf = ({ httpUrl }: RunningAnvil) =>
  localCall<unknown[]>(httpUrl, 'eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }])
/** A token with one transfer. */
async function use({ httpUrl }: RunningAnvil): Promise<void> {
  const token = await deployToken(httpUrl, { name: 'Test', symbol: 'TEST', decimals: 6 })
  const options = { token, to: DEV_ACCOUNTS[3], amountBaseUnits: 5n }
  await untilMined(httpUrl, await mint(httpUrl, options))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a stopped chain resumes at its last block, with its logs, and leaves no process', {
  timeout,
}, async () => {
  const stateDirectory = join(base, 'stopped')
  const first = await startAnvil({ stateDirectory, log })
  await use(first)
  const [head, logs] = [await newest(first), await logsOf(first)]
  const startedAt = performance.now()
  await first.stop()
  assert.ok(performance.now() - startedAt < ANVIL_STOP_TIMEOUT_MS)
  assert.equal(isAlive(first.pid), false)
  const second = await startAnvil({ stateDirectory, log })
  try {
    assert.equal((await newest(second)).hash, head.hash)
    assert.deepEqual(await logsOf(second), logs)
    await use(second)
  } finally {
    await second.stop()
  }
})

test('a chain that was resumed again and again still begins with its own first block', {
  timeout,
}, async () => {
  const stateDirectory = join(base, 'resumed')
  const stateFile = join(stateDirectory, 'anvil-state.json')
  const first = await startAnvil({ stateDirectory, log })
  await use(first)
  const genesis = await blockAt(first, '0x0')
  await first.stop()
  const second = await startAnvil({ stateDirectory, log })
  await use(second)
  await second.stop()
  // Each resumption leaves a first block of its own in what the node writes; which of them it takes is its whim.
  const state = JSON.parse(await readFile(stateFile, 'utf8'))
  const isFirst = ({ header }: { header: { number: string } }) => Number(header.number) === 0
  const [own] = state.blocks.filter(isFirst)
  const later = { ...own.header, timestamp: `0x${(Number(genesis?.timestamp) + 7).toString(16)}` }
  state.blocks.push({ ...own, header: later })
  await writeFile(stateFile, JSON.stringify(state))
  const third = await startAnvil({ stateDirectory, log })
  try {
    assert.deepEqual(await blockAt(third, '0x0'), genesis)
  } finally {
    await third.stop()
  }
})

test('a killed chain resumes from a copy that is a second or two old, on the same genesis', {
  timeout,
}, async () => {
  const stateDirectory = join(base, 'killed')
  const first = await startAnvil({ stateDirectory, log })
  await use(first)
  const old = await newest(first)
  // Some seconds of life, a block in each.
  const livedUntil = performance.now() + 3_000
  await until(
    async () => {
      await localCall(first.httpUrl, 'evm_mine')
      return performance.now() > livedUntil
    },
    { what: 'the chain has lived for three seconds', everyMs: 500 },
  )
  const last = await newest(first)
  process.kill(first.pid, 'SIGKILL')
  await first.ended
  const second = await startAnvil({ stateDirectory, log })
  try {
    const head = await newest(second)
    assert.ok(
      Number(head.number) >= Number(old.number) && Number(head.number) <= Number(last.number),
    )
    assert.equal((await blockAt(second, old.number))?.hash, old.hash)
    await localCall(second.httpUrl, 'evm_mine')
    const ageS = Date.now() / 1_000 - Number((await newest(second)).timestamp)
    assert.ok(Math.abs(ageS) < 10, `its time goes on with ours: ${ageS} s`)
  } finally {
    await second.stop()
  }
})

test('a chain ends when its starter is killed', { timeout }, async () => {
  const script = fileURLToPath(new URL('../support/anvil-starter.ts', import.meta.url))
  const args = [...(process.versions['deno'] ? ['run', '-A'] : []), script, join(base, 'orphan')]
  const starter = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const line = await new Promise<string>((done) => {
    starter.stdout.once('data', (chunk: Uint8Array) => done(new TextDecoder().decode(chunk)))
  })
  const { pid } = JSON.parse(line) as { pid: number }
  assert.equal(isAlive(pid), true)
  starter.kill('SIGKILL')
  await until(() => !isAlive(pid), { what: 'the node has ended', timeoutMs: 10_000 })
})

test('blocks come on the beat, and transactions at once', { timeout }, async () => {
  const chain = await startAnvil({ blockTimeSeconds: 0.3, log })
  try {
    const { number } = await newest(chain)
    await until(async () => Number((await newest(chain)).number) >= Number(number) + 3, {
      what: 'three blocks without a transaction',
    })
  } finally {
    await chain.stop()
  }
  const slow = await startAnvil({ blockTimeSeconds: 60, log })
  try {
    await use(slow)
    assert.equal(Number((await newest(slow)).number), 2)
  } finally {
    await slow.stop()
  }
})

test('a taken port is named in one sentence, and the chain there is left alone', {
  timeout,
}, async () => {
  const first = await startAnvil({ log })
  const port = Number(new URL(first.httpUrl).port)
  try {
    await assert.rejects(startAnvil({ port, log }), new RegExp(`port ${port} .* is taken`))
    assert.equal(Number((await newest(first)).number), 0)
  } finally {
    await first.stop()
  }
})
