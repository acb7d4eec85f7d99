import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { createKeyring, newSecret } from '#shared/crypto.ts'
import { newId } from '#shared/ids.ts'
import { sealWebhookSecret } from '#shared/webhook-secret.ts'
import { startTestChain, type TestChain } from './anvil.ts'
import { type Answer, call } from './api.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { findFreePort } from './free-port.ts'
import { assertOneStory } from './oracle.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type SeededStore, type SeedOptions, seedStore } from './seed.ts'
import { type SvmChain, startSvmChain } from './svm.ts'
import { readSvmTransfers } from './svm-transfers.ts'
import { until } from './until.ts'
import { untilRead } from './until-read.ts'
import { isGenuine } from './verify-webhook.ts'

export type ProcessName = 'api' | 'indexer' | 'dispatcher'

/** The whole service as an operator runs it: three processes, Postgres, a chain, and a seller's endpoint. */
export type Stack = {
  database: TestDatabase
  chain: TestChain
  /** Only with the option `hasSolana`. */
  svm: SvmChain | undefined
  receiver: Receiver
  seller: SeededStore
  apiUrl: string
  /** Starts a process; resolves when it is up. */
  start(name: ProcessName): Promise<void>
  /** SIGKILL: the process has no chance to tidy up. */
  kill(name: ProcessName): Promise<void>
  /** Of a process that runs, as the operating system names it. */
  pid(name: ProcessName): number | undefined
  /** Another process beside those that `start` knows; the caller waits for it, and `close` ends it. */
  spawn(name: ProcessName, args?: readonly string[]): Child
  /** Claims a slot with the store's publishable key. */
  checkout(body?: Record<string, unknown>): Promise<PaymentAnswer>
  read(paymentId: string): Promise<PaymentAnswer>
  post(path: string, body?: unknown): Promise<Answer>
  /** Sends a token transfer to the payment's address; answers the transaction's hash. */
  pay(payment: PaymentAnswer, amountBaseUnits?: bigint): Promise<string>
  /** Mines blocks until the payment has this status. */
  untilStatus(
    paymentId: string,
    status: string,
    options?: { isMining?: boolean },
  ): Promise<PaymentAnswer>
  /** Types of the events received for a payment, each id once; every signature is checked. */
  received(paymentId: string): string[]
  untilReceived(paymentId: string, types: string[]): Promise<void>
  /** The data of the newest POST of this event. */
  eventData(paymentId: string, type: string): Record<string, unknown>
  /** Lets the oracle judge database, chain and receiver. */
  judge(): Promise<void>
  /**
   * Waits until the indexer has read the chain, then lets the oracle judge database and chain alone: for stores that nobody
   * receives for.
   */
  judgeChain(): Promise<void>
  close(): Promise<void>
}

export type PaymentAnswer = {
  paymentId: string
  status: string
  network: string
  token: string
  payTo: string
  contract: string
  amount: string
  amountBaseUnits: string
  decimals: number
  txHash: string | null
  confirmations: number
  expiresAt: string
}

export type StackOptions = {
  seed?: SeedOptions
  confirmations?: number
  /** Environment on top of what every process gets. */
  env?: Record<string, string>
  /** Processes started at once; default all three. */
  processes?: ProcessName[]
  networks?: (chain: TestChain) => object | Promise<object>
  /** Default: one of its own, on the tests' server. */
  database?: TestDatabase
  /** What the processes connect to instead of the database itself. */
  databaseUrl?: (url: string) => Promise<string>
  /** A Solana beside the EVM chain, as `solana:test`. */
  hasSolana?: boolean
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ENCRYPTION_KEY = Buffer.alloc(32, 7)
/** Milliseconds for a process to be up on a busy machine. */
const START_TIMEOUT_MS = 20_000
/** Milliseconds for a process to end after SIGTERM. */
const STOP_TIMEOUT_MS = 5_000
/** Milliseconds for anything a flow waits for. */
const FLOW_TIMEOUT_MS = 30_000
/** Characters kept of what a process printed, for the error when it does not start. */
const OUTPUT_CHARACTERS_MAX = 8_000

export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const directory = await mkdtemp(join(tmpdir(), 'stack-'))
  const [database, chain, receiver, port, svm] = await Promise.all([
    options.database ?? createTestDatabase(),
    startTestChain(),
    startReceiver(),
    findFreePort(),
    options.hasSolana ? startSvmChain() : undefined,
  ])
  const seller = await seedSeller(database, receiver, options.seed)
  const secret = seller.webhookSecret
  const networksFile = join(directory, 'networks.json')
  const networks = {
    ...((await options.networks?.(chain)) ?? networksOf(chain, options.confirmations ?? 3)),
    ...(svm ? solanaNetworkOf(svm) : {}),
  }
  await writeFile(networksFile, JSON.stringify(networks))
  const env = {
    DATABASE_URL: (await options.databaseUrl?.(database.url)) ?? database.url,
    NETWORKS_FILE: networksFile,
    ENCRYPTION_KEY: ENCRYPTION_KEY.toString('base64'),
    PORT: String(port),
    WEBHOOK_ALLOW_PRIVATE: '1',
    RATE_LIMIT_CHECKOUT: '100000',
    LOG_FORMAT: 'json',
    ...options.env,
  }
  const children = new Map<ProcessName, Child>()
  const others: Child[] = []
  const apiUrl = `http://127.0.0.1:${port}`

  const start = async (name: ProcessName) => {
    const child = spawnProcess(name, env)
    children.set(name, child)
    const isUp =
      name === 'api'
        ? async () => (await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(1_000) })).ok
        : () => /"message":"(started|leads)"/.test(child.output())
    await until(isUp, { what: `${name} is up: ${child.output()}`, timeoutMs: START_TIMEOUT_MS })
  }
  const kill = async (name: ProcessName) => {
    await children.get(name)?.end('SIGKILL')
    children.delete(name)
  }
  await Promise.all((options.processes ?? ['api', 'indexer', 'dispatcher']).map(start))

  const read = async (paymentId: string): Promise<PaymentAnswer> => {
    const answer = await call(apiUrl, 'GET', `/v1/payments/${paymentId}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const envelopes = () => receiver.received.map(({ rawBody }) => JSON.parse(rawBody.toString()))
  const received = (paymentId: string) => {
    const mine = envelopes().filter(({ data }) => data.paymentId === paymentId)
    return [...new Set(mine.map(({ type }) => type as string))]
  }
  return {
    database,
    chain,
    svm,
    receiver,
    seller,
    apiUrl,
    start,
    kill,
    pid: (name) => children.get(name)?.pid,
    spawn(name, args) {
      const child = spawnProcess(name, env, args)
      others.push(child)
      return child
    },
    read,
    received,
    async checkout(body = {}) {
      const answer = await call(apiUrl, 'POST', '/v1/checkout', {
        headers: { Origin: 'https://shop.example' },
        body: {
          publishableKey: seller.keys.test.publishable,
          ...('amount' in body ? {} : { priceId: seller.price.priceId }),
          network: 'base',
          token: 'usdc',
          ...body,
        },
      })
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
    post: (path, body) => call(apiUrl, 'POST', path, { body }),
    pay: (payment, amountBaseUnits = BigInt(payment.amountBaseUnits)) =>
      svm && payment.network === 'solana'
        ? svm.pay({ mint: payment.contract, to: payment.payTo, amountBaseUnits })
        : chain.pay({ token: payment.contract, to: payment.payTo, amountBaseUnits }),
    async untilStatus(paymentId, status, { isMining = true } = {}) {
      return until(
        async () => {
          const payment = await read(paymentId)
          if (payment.status === status) return payment
          if (isMining && payment.network === 'solana') svm?.produce(4)
          else if (isMining) await chain.mine()
          return undefined
        },
        { what: `${paymentId} is ${status}`, timeoutMs: FLOW_TIMEOUT_MS, everyMs: 100 },
      )
    },
    async untilReceived(paymentId, types) {
      await until(() => types.every((type) => received(paymentId).includes(type)), {
        what: `${types.join(', ')} received for ${paymentId}`,
        timeoutMs: FLOW_TIMEOUT_MS,
      })
      // Two events of one moment may arrive in either order, as the specification allows.
      assert.deepEqual(received(paymentId).sort(), [...types].sort())
      assertGenuine(receiver, secret)
    },
    eventData(paymentId, type) {
      const found = envelopes().findLast(({ id }) => id === `${paymentId}:${type}`)
      assert.ok(found, `${type} was received`)
      return found.data
    },
    async judge() {
      await untilDelivered(database)
      assertGenuine(receiver, secret)
      await assertOneStory({
        db: database.db,
        chains: { ...judgedChains(chain), ...(svm ? judgedSolana(svm) : {}) },
        receivedEventIds: envelopes().map(({ id }) => id),
      })
    },
    async judgeChain() {
      await untilRead(database.db, chain.httpUrl, FLOW_TIMEOUT_MS)
      await assertOneStory({ db: database.db, chains: judgedChains(chain) })
    },
    async close() {
      await Promise.all(
        [...children.values(), ...others].map(async (child) => {
          child.signal('SIGCONT')
          await child.end('SIGTERM')
        }),
      )
      await Promise.all([chain.stop(), svm?.stop(), receiver.close(), database.drop()])
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The local chain as `NETWORKS_FILE` names it: a deployment for each kind of token. */
export function networksOf(chain: TestChain, confirmations: number) {
  const row = {
    rpc: [chain.wsUrl, chain.httpUrl],
    chainId: 31_337,
    confirmations,
  }
  const token = (contract: string, decimals: number) => ({ contract, decimals })
  return {
    base: { test: { ...row, tokens: { usdc: token(chain.tokens.usdc, 6) } } },
    ethereum: { test: { ...row, tokens: { usdt: token(chain.tokens.usdt, 6) } } },
    bnb: { test: { ...row, tokens: { usdc: token(chain.tokens.usdc18, 18) } } },
  }
}

function solanaNetworkOf({ node, ledger, mints }: SvmChain) {
  const token = (contract: string) => ({ contract, decimals: 6 })
  const tokens = { usdc: token(mints.usdc), usdt: token(mints.usdt) }
  const rpc = [node.wsUrl, node.httpUrl]
  return { solana: { test: { rpc, genesisHash: ledger.genesisHash, tokens } } }
}

function judgedSolana({ node, mints }: SvmChain) {
  const read = (from: number, to: number) =>
    readSvmTransfers(node.httpUrl, Object.values(mints), from, to)
  return { 'solana:test': { read } }
}

function judgedChains(chain: TestChain) {
  const { httpUrl, tokens } = chain
  return {
    'base:test': { httpUrl, contracts: [tokens.usdc] },
    'ethereum:test': { httpUrl, contracts: [tokens.usdt] },
    'bnb:test': { httpUrl, contracts: [tokens.usdc18] },
  }
}

async function seedSeller(database: TestDatabase, receiver: Receiver, seed: SeedOptions = {}) {
  const { db } = database
  const seller = await seedStore(db, { webhookUrl: receiver.url, ...seed })
  const webhookSecret = newSecret('whsec')
  const { storeId } = seller.store
  const ciphertext = sealWebhookSecret(createKeyring(ENCRYPTION_KEY), storeId, webhookSecret)
  await db`
    insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
    values (${newId('whs')}, ${storeId}, ${ciphertext})`
  return { ...seller, webhookSecret }
}

/** Waits until nothing is owed any more; a flow that leaves a delivery open has not ended. */
async function untilDelivered({ db }: TestDatabase): Promise<void> {
  await until(
    async () => {
      const [row] = await db<{ isDone: boolean }[]>`
        select not exists (select from waiting_events)
          and not exists (select from deliveries where status = 'PENDING') as is_done`
      return row?.isDone
    },
    { what: 'every event is delivered', timeoutMs: FLOW_TIMEOUT_MS },
  )
}

function assertGenuine(receiver: Receiver, secret: string): void {
  for (const { headers, rawBody, atMs } of receiver.received) {
    const envelope = JSON.parse(rawBody.toString())
    const signature = headers['x-service-signature']
    assert.ok(
      isGenuine(String(signature), rawBody, secret, Math.floor(atMs / 1000)),
      `the signature of ${envelope.id} is genuine`,
    )
    assert.equal(headers['x-service-event'], envelope.type)
    assert.equal(headers['x-service-delivery'], envelope.id)
  }
}

/** A process of the service. */
export type Child = {
  pid: number | undefined
  /** The end of what it printed. */
  output(): string
  exitCode(): number | null
  signal(signal: NodeJS.Signals): void
  /** Sends the signal and waits for the end, SIGKILL being the last resort. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** Runs an entrance on the runtime that runs the test. */
function spawnProcess(
  name: ProcessName,
  env: Record<string, string>,
  extra: readonly string[] = [],
): Child {
  const entrance = join(ROOT, name, 'main.ts')
  const isDeno = 'Deno' in globalThis
  // Deno counts a port shared by several processes among what it may still change.
  const flags = ['run', '-A', '--unstable-net', '--node-modules-dir=manual']
  const args = isDeno ? [...flags, entrance] : [entrance]
  const child: ChildProcess = spawn(process.execPath, [...args, ...extra], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const keep = (piece: Buffer) => {
    output = (output + piece.toString()).slice(-OUTPUT_CHARACTERS_MAX)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  return {
    pid: child.pid,
    output: () => output,
    exitCode: () => child.exitCode,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await ended
      clearTimeout(timer)
    },
  }
}
