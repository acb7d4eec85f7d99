import { Buffer } from 'node:buffer'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Log } from '#shared/log.ts'

export type AnvilOptions = {
  /** TCP port on 127.0.0.1 for HTTP and websocket alike; a free one when absent. */
  port?: number
  /**
   * Seconds between blocks while something happens; on a quiet chain five times that. A transaction is mined at once all
   * the same. Absent: transactions alone make blocks.
   */
  blockTimeSeconds?: number
  /** Where the chain is kept so that the next start resumes it; absent: it is gone with the process. */
  stateDirectory?: string
  /** Default 31337, Anvil's own. */
  chainId?: number
  /** States of past blocks that the node still knows; default {@link STATES_KEPT}. */
  statesKept?: number
  log: Log
}

export type RunningAnvil = {
  httpUrl: string
  wsUrl: string
  pid: number
  /** Resolves when the node has ended, for whatever reason. */
  ended: Promise<void>
  /** Keeps the chain, then ends the node; both within {@link ANVIL_STOP_TIMEOUT_MS}. */
  stop(): Promise<void>
}

/** Milliseconds from `stop()` to no process left: one last copy of the chain, then the end. */
export const ANVIL_STOP_TIMEOUT_MS = 3_000
const LAST_SAVE_TIMEOUT_MS = 2_000
const STOP_POLITELY_MS = 500
/** Milliseconds for the node to answer; loading a long chain is the slow case. */
const READY_TIMEOUT_MS = 30_000
const READY_POLL_MS = 15
/** Milliseconds for a port to become free that a killed starter's node is just leaving. */
const PORT_WAIT_MS = 3_000
/** Attempts to start on a free port, which another program may take in between. */
const START_ATTEMPTS_MAX = 5
/**
 * Milliseconds between two copies of the chain on disk, and how many times longer than a copy took the
 * pause after it is at least, so that a chain of many blocks is not copied all the time.
 */
const SAVE_EVERY_MS = 1_000
const SAVE_PAUSE_RATIO = 20
/** Milliseconds for any other answer. */
const CALL_TIMEOUT_MS = 5_000
/** Milliseconds for one copy before it is given up. */
const SAVE_TIMEOUT_MS = 20_000
/**
 * A block time without transactions counts as quiet after this many blocks; then every fifth is mined. Each block costs
 * memory, disk and its followers' work for ever: at 2 s a day is 43,200 of them (some 400 MB), at 10 s 8,640.
 */
const QUIET_AFTER_BLOCKS = 15
const QUIET_FACTOR = 5
/**
 * States of past blocks kept in memory: the deepest reorganisation that can be played. Measured with
 * Anvil 1.7.1 and hardly any accounts: 2,000 blocks take 47 MB with 64 states; 0 makes the node spin, 2 stall it at times, and without the option
 * it writes every state to the user's home.
 */
const STATES_KEPT = 64
/** Gas of one block: ten times a usual one. */
const BLOCK_GAS_MAX = 300_000_000
/** Characters kept of what the node printed, for the error when it does not start. */
const OUTPUT_CHARACTERS_MAX = 4_000
const STATE_FILE = 'anvil-state.json'

type Started = { child: ChildProcess; pid: number; ended: Promise<void>; output: () => string }

/**
 * Starts a local EVM chain (Anvil) on 127.0.0.1. It ends with `stop()` or when this process has gone, `kill -9` included.
 *
 * With `stateDirectory` the chain is copied to disk at most every second while it grows, each copy whole or not at
 * all: after a clean stop it resumes at its last block, after a kill up to a second or two before, from
 * where it goes on with other blocks. Whoever follows it sees a short reorganisation.
 *
 * Throws one clear sentence when the port is taken or the platform has no Anvil.
 */
export async function startAnvil(options: AnvilOptions): Promise<RunningAnvil> {
  const binary = findAnvil()
  const stateFile = options.stateDirectory && join(options.stateDirectory, STATE_FILE)
  if (options.stateDirectory) await mkdir(options.stateDirectory, { recursive: true })
  const { started, port } = await startOnPort(binary, stateFile, options)
  const httpUrl = `http://127.0.0.1:${port}`
  const watcher = watch(started.pid)
  const saver = stateFile ? keepSaving(httpUrl, stateFile, options.log) : undefined
  const miner = keepMining(httpUrl, options)
  const ended = started.ended.then(() => {
    watcher.kill('SIGKILL')
    saver?.cancel()
    miner.cancel()
  })
  return {
    httpUrl,
    wsUrl: `ws://127.0.0.1:${port}`,
    pid: started.pid,
    ended,
    async stop() {
      miner.cancel()
      await saver?.finish()
      await stopChild(started)
      await ended
    },
  }
}

/** The program of this platform itself: the package's own launcher would stay between us and the node. */
function findAnvil(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  const program = process.platform === 'win32' ? 'anvil.exe' : 'anvil'
  const path = `@foundry-rs/anvil-${process.platform}-${cpu}/bin/${program}`
  try {
    const here = createRequire(import.meta.url)
    return createRequire(here.resolve('@foundry-rs/anvil/package.json')).resolve(path)
  } catch (cause) {
    throw new Error(`there is no Anvil for this platform (${path}): run bun install`, { cause })
  }
}

async function startOnPort(
  binary: string,
  stateFile: string | undefined,
  options: AnvilOptions,
): Promise<{ started: Started; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort())
    if (options.port !== undefined) await untilFree(port)
    const started = spawnAnvil(binary, port, stateFile && (await readyState(stateFile)), options)
    if (await becomesReady(started, port)) return { started, port }
    const isPortTaken = started.output().includes('in use')
    if (isPortTaken && options.port === undefined && attempt < START_ATTEMPTS_MAX) continue
    const kept = stateFile ? ` (the chain it was to resume: ${stateFile})` : ''
    throw new Error(`Anvil did not start on port ${port}${kept}: ${started.output().trim()}`)
  }
}

/** The file's name when it holds a chain, made fit to be resumed from. */
async function readyState(stateFile: string): Promise<string | undefined> {
  const text = await readFile(stateFile, 'utf8').catch(() => '')
  if (text === '') return undefined
  const firstCount = text.split('"number":"0x0"').length - 1
  if (firstCount > 1) await writeWhole(stateFile, dropOtherGeneses(text))
  return stateFile
}

type KeptBlock = { header: { number: string; timestamp: string } }

/**
 * A node that resumes a chain makes a first block of its own before, and writes it with the others; the next one takes
 * any of them, and to whoever follows it is another chain. The oldest is the chain's own.
 */
function dropOtherGeneses(text: string): string {
  const state = JSON.parse(text) as { blocks: KeptBlock[] }
  const isFirst = ({ header }: KeptBlock) => Number(header.number) === 0
  const [own] = state.blocks
    .filter(isFirst)
    .sort((one, other) => Number(one.header.timestamp) - Number(other.header.timestamp))
  const blocks = state.blocks.filter((block) => block === own || !isFirst(block))
  return JSON.stringify({ ...state, blocks })
}

function spawnAnvil(
  binary: string,
  port: number,
  stateFile: string | undefined,
  { chainId = 31_337, statesKept = STATES_KEPT }: AnvilOptions,
): Started {
  const flags = [
    ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId)],
    // Errors are still printed. Pages of other sites may not drive the chain.
    ...['--quiet', '--no-cors'],
    // Later rules keep the hashes of 8,191 blocks as state of every block: 30 times slower to mine.
    ...['--hardfork', 'cancun', '--prune-history', String(statesKept)],
    // Blocks are never half full, so that the price of gas only falls and funds never run out.
    ...['--gas-limit', String(BLOCK_GAS_MAX)],
    ...(stateFile ? ['--load-state', stateFile] : []),
  ]
  const child = spawn(binary, flags, {
    // A session of its own: Ctrl-C on the terminal must not reach the chain before its users are done.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const keep = (chunk: Uint8Array) => {
    output = (output + new TextDecoder().decode(chunk)).slice(-OUTPUT_CHARACTERS_MAX)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const ended = new Promise<void>((done) => {
    child.once('close', () => done())
    child.once('error', (error) => {
      output += String(error)
      done()
    })
  })
  return { child, pid: child.pid ?? 0, ended, output: () => output }
}

/** Resolves `true` when the node answers, `false` when it ended instead. */
async function becomesReady(started: Started, port: number): Promise<boolean> {
  let isOver = false
  const ended = started.ended.then(() => {
    isOver = true
  })
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (!isOver && performance.now() < deadline) {
    if (await accepts(port)) {
      await call(`http://127.0.0.1:${port}`, 'eth_chainId', { timeoutMs: READY_TIMEOUT_MS })
      return !isOver
    }
    await Promise.race([ended, wait(READY_POLL_MS)])
  }
  if (!isOver) await stopChild(started)
  return false
}

/** Mines on the beat, so that time passes on the chain; less often while nobody uses it. */
function keepMining(httpUrl: string, { blockTimeSeconds, log }: AnvilOptions) {
  if (!blockTimeSeconds) return { cancel() {} }
  let isOver = false
  let quietBeats = 0
  const beat = async () => {
    try {
      const block = await call<{ transactions: unknown[] }>(httpUrl, 'eth_getBlockByNumber', {
        params: ['latest', false],
      })
      quietBeats = block.transactions.length > 0 ? 0 : quietBeats + 1
      const isQuiet = quietBeats > QUIET_AFTER_BLOCKS
      if (!isQuiet || quietBeats % QUIET_FACTOR === 0) await call(httpUrl, 'evm_mine')
    } catch (cause) {
      if (!isOver) log.debug('the local chain did not mine', { cause })
    }
    if (!isOver) timer = setTimeout(beat, blockTimeSeconds * 1_000)
  }
  let timer = setTimeout(beat, blockTimeSeconds * 1_000)
  return {
    cancel() {
      isOver = true
      clearTimeout(timer)
    },
  }
}

type Saver = { finish(): Promise<void>; cancel(): void }

/** Copies the chain to its file while it grows, one copy at a time. */
function keepSaving(httpUrl: string, stateFile: string, log: Log): Saver {
  let savedHead = ''
  let isOver = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: Promise<void> = Promise.resolve()
  const save = async (timeoutMs: number) => {
    const startedAt = performance.now()
    try {
      const head = await call(httpUrl, 'eth_blockNumber', { timeoutMs })
      if (head !== savedHead) await saveState(httpUrl, stateFile, timeoutMs)
      savedHead = head
    } catch (cause) {
      if (!isOver) log.warn('could not keep a copy of the local chain', { cause })
    }
    return performance.now() - startedAt
  }
  const schedule = (pauseMs: number) => {
    timer = setTimeout(() => {
      running = save(SAVE_TIMEOUT_MS).then((tookMs) => {
        if (!isOver) schedule(Math.max(SAVE_EVERY_MS, tookMs * SAVE_PAUSE_RATIO))
      })
    }, pauseMs)
  }
  const cancel = () => {
    isOver = true
    clearTimeout(timer)
  }
  schedule(SAVE_EVERY_MS)
  return {
    cancel,
    async finish() {
      cancel()
      await Promise.race([
        running.then(() => save(LAST_SAVE_TIMEOUT_MS)),
        wait(LAST_SAVE_TIMEOUT_MS),
      ])
    },
  }
}

/** `anvil_dumpState` answers the gzipped JSON that `--load-state` reads, in hex. The file is replaced whole. */
async function saveState(httpUrl: string, stateFile: string, timeoutMs: number): Promise<void> {
  const hex = await call(httpUrl, 'anvil_dumpState', { timeoutMs })
  const json = await promisify(gunzip)(Buffer.from(hex.slice(2), 'hex'))
  await writeWhole(stateFile, json)
}

async function writeWhole(stateFile: string, content: Uint8Array | string): Promise<void> {
  const partial = `${stateFile}.new`
  await writeFile(partial, content)
  await rename(partial, stateFile)
}

async function call<T = string>(
  httpUrl: string,
  method: string,
  options: { params?: unknown[]; timeoutMs?: number } = {},
): Promise<T> {
  const { params = [], timeoutMs = CALL_TIMEOUT_MS } = options
  const response = await fetch(httpUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const answer = (await response.json()) as { result?: T; error?: { message?: unknown } }
  if (answer.error) throw new Error(`${method} failed: ${String(answer.error.message)}`)
  return answer.result as T
}

/** Anvil holds nothing that a signal would save, so force does no harm. */
async function stopChild({ child, ended }: Started): Promise<void> {
  child.kill('SIGTERM')
  await Promise.race([ended, wait(STOP_POLITELY_MS)])
  child.kill('SIGKILL')
  await ended
}

/** A shell that sleeps on a pipe from this process and ends the node when the pipe closes. */
function watch(pid: number): ChildProcess {
  const script = `trap '' INT TERM HUP; cat > /dev/null; kill -KILL "$0"`
  const watcher = spawn('/bin/sh', ['-c', script, String(pid)], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.on('error', () => {
    // Without a shell the node outlives a killed starter; its port then tells the next start.
  })
  return watcher
}

async function untilFree(port: number): Promise<void> {
  const deadline = performance.now() + PORT_WAIT_MS
  while (await accepts(port)) {
    if (performance.now() > deadline) {
      throw new Error(
        `port ${port} for the local chain is taken: stop what listens there, or choose another`,
      )
    }
    await wait(READY_POLL_MS)
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    server.listen(0, '127.0.0.1', done)
  })
  const address = server.address()
  await new Promise((done) => server.close(done))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
