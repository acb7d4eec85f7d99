import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Env } from '#shared/config.ts'
import { closeDb, openDb } from '#shared/db.ts'
import { createLog, type Log } from '#shared/log.ts'
import { migrate } from '#shared/migrate.ts'
import { startAnvil } from '#shared/start/anvil.ts'
import { spawnChild } from '#shared/start/child.ts'
import { createChildLog } from '#shared/start/child-log.ts'
import { type KeptService, keepRunning, type Service } from '#shared/start/keep-running.ts'
import {
  BUYER,
  LOCAL_BLOCK_TIME_SECONDS,
  LOCAL_CHAIN_ID,
  LOCAL_NETWORKS,
  localNetworks,
  prepareTokens,
} from '#shared/start/local-chain.ts'
import { type Lock, lockDirectory } from '#shared/start/lock.ts'
import { watchMails } from '#shared/start/mail-watch.ts'
import { choosePort } from '#shared/start/ports.ts'
import { startPostgres } from '#shared/start/postgres.ts'
import { keepEncryptionKey, writePrivate } from '#shared/start/private-files.ts'
import type { Screen } from '#shared/start/screen.ts'
import { type DemoSeller, keepDemoSeller } from '#shared/start/seed.ts'
import { readSettings, type Settings } from '#shared/start/settings.ts'
import {
  addSolanaWallet,
  describeLocalSolana,
  type LocalSolana,
} from '#shared/start/solana/local.ts'
import { findDocs, untilNetworksRun, untilOk } from '#shared/start/until-ready.ts'

export type StackOptions = {
  env: Env
  /** Where everything is kept. */
  directory: string
  screen: Screen
  /** A Solana beside the EVM chain. */
  hasSolana?: boolean
}

/** What a person needs to use it. */
export type StackFacts = {
  settings: Settings
  seller: DemoSeller
  docsUrl: string
  /** One line for each network that is not followed. */
  networkFaults: string[]
}

export type Stack = {
  /** Settles when everything runs. Rejects with the fault, or `Stopped` after `stop()`. */
  ready: Promise<StackFacts>
  /** Resolves when a process found its configuration wrong: starting it again would not help. */
  hopeless: Promise<void>
  /** Ends every process, within 5 s. */
  stop(): Promise<void>
}

/** It was stopped while it was being started. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
}

/** Milliseconds a step of the start may still take when everything is to stop: then its own watchers end what it began. */
const STEP_END_TIMEOUT_MS = 2_500
/** Where the embedded Postgres is while it runs, and where the API is: for the commands that are called beside us. */
const DATABASE_URL_FILE = 'database-url'
const PUBLIC_URL_FILE = 'public-url'
const CHAIN_PORT = 8545
const SOLANA_PORT = 8899
const CLOSE_TIMEOUT_MS = 500

type Context = StackOptions & {
  log: Log
  settings: Settings
  /** Keeps a service running from now on; a stop ends it. */
  keep(service: Service): Promise<void>
}

/** Starts Postgres, the local chain, the three processes and the demo shop, and keeps them running. */
export function startStack(options: StackOptions): Stack {
  const log = createLog({
    level: 'warn',
    format: 'pretty',
    name: 'start',
    write: (line) => options.screen.line(`  ${line}`),
  })
  const services: KeptService[] = []
  let lock: Lock | undefined
  let isStopping = false
  let giveUp = () => {}
  const hopeless = new Promise<void>((done) => {
    giveUp = done
  })
  const keep = async (service: Service) => {
    if (isStopping) throw new Stopped()
    const kept = await keepRunning(service, { log, onHopeless: giveUp })
    services.push(kept)
    if (isStopping) throw new Stopped()
  }
  const begin = async () => {
    await mkdir(options.directory, { recursive: true })
    lock = await lockDirectory(options.directory)
    const settings = await readSettings(options.env)
    for (const note of settings.notes) options.screen.line(`  ! ${note}`)
    return startAll({ ...options, log, settings, keep })
  }
  const ready = begin()
  return {
    ready,
    hopeless,
    async stop() {
      isStopping = true
      await Promise.race([ready.catch(() => undefined), wait(STEP_END_TIMEOUT_MS)])
      await stopServices(services)
      if (lock) {
        for (const name of [DATABASE_URL_FILE, PUBLIC_URL_FILE]) {
          await rm(join(options.directory, name), { force: true })
        }
      }
      await lock?.release()
    },
  }
}

/** Those who use the database and the chain end before them. */
async function stopServices(services: readonly KeptService[]): Promise<void> {
  const isStorage = ({ name }: KeptService) => name === 'postgres'
  await Promise.all(services.filter((one) => !isStorage(one)).map((one) => one.stop()))
  await Promise.all(services.filter(isStorage).map((one) => one.stop()))
}

async function startAll(context: Context): Promise<StackFacts> {
  const { screen, settings, directory } = context
  const [databaseUrl, chain, encryptionKey] = await Promise.all([
    startDatabase(context),
    startChain(context),
    settings.env['ENCRYPTION_KEY']?.trim() || keepEncryptionKey(directory),
  ])
  if (chain.isNew) await forgetLocalChain(databaseUrl, LOCAL_NETWORKS)
  if (chain.solana) await forgetLocalChain(databaseUrl, ['solana'])
  await startProcesses(context, { databaseUrl, encryptionKey, networksFile: chain.networksFile })
  await writePrivate(join(directory, PUBLIC_URL_FILE), `${settings.publicUrl}\n`)
  const isSeeded = screen.step('demo store')
  const seller = await keepDemoSeller(directory, {
    apiUrl: settings.api.url,
    webhookUrl: `${settings.shop.url}/webhook`,
  })
  if (chain.solana) await addSolanaWallet(settings.api.url, seller)
  isSeeded()
  await startShop(context, seller, chain)
  const isFollowing = screen.step('networks')
  const networkFaults = await untilNetworksRun(settings.api.url)
  isFollowing()
  const docsUrl = `${settings.publicUrl}${await findDocs(settings.api.url)}`
  return { settings, seller, docsUrl, networkFaults }
}

async function startDatabase({ screen, settings, directory, log, keep }: Context): Promise<string> {
  const isDone = screen.step('database')
  let databaseUrl = settings.config.databaseUrl
  let port: number | undefined
  if (databaseUrl === undefined) {
    await keep({
      name: 'postgres',
      async start() {
        const dataDirectory = join(directory, 'postgres')
        const running = await startPostgres({
          dataDirectory,
          log,
          ...(port === undefined ? {} : { port }),
        })
        // Started again it must be where its users look for it.
        port = running.port
        databaseUrl = running.url
        await writePrivate(join(directory, DATABASE_URL_FILE), `${databaseUrl}\n`)
        return { ended: running.ended.then(() => ({ exitCode: null })), stop: running.stop }
      },
    })
  }
  if (databaseUrl === undefined) throw new Error('the embedded Postgres has no address')
  const applied = await migrate(settings.config.databaseListenUrl ?? databaseUrl, { log })
  isDone(applied.length > 0 ? `${applied.length} migrations` : '')
  return databaseUrl
}

type LocalChain = {
  httpUrl: string
  isNew: boolean
  networksFile: string
  solana: LocalSolana | undefined
}

async function startChain(context: Context): Promise<LocalChain> {
  const { screen, settings, directory, log, keep } = context
  const isDone = screen.step('local chain')
  const { port } = await choosePort('127.0.0.1', CHAIN_PORT)
  const rpc = [`ws://127.0.0.1:${port}`, `http://127.0.0.1:${port}`]
  await keep({
    name: 'anvil',
    async start() {
      const running = await startAnvil({
        port,
        blockTimeSeconds: LOCAL_BLOCK_TIME_SECONDS,
        chainId: LOCAL_CHAIN_ID,
        stateDirectory: join(directory, 'chain'),
        log,
      })
      return { ended: running.ended.then(() => ({ exitCode: null })), stop: running.stop }
    },
  })
  const httpUrl = `http://127.0.0.1:${port}`
  const { tokens, isNewChain } = await prepareTokens(httpUrl, join(directory, 'chain'))
  const networksFile = join(directory, 'networks.json')
  const solana = context.hasSolana ? await startSolana(context) : undefined
  const networks = {
    ...(solana ? { solana: { test: solana.row } } : {}),
    ...localNetworks(tokens, rpc, settings.networks),
  }
  await writeFile(networksFile, `${JSON.stringify(networks, null, 2)}\n`)
  isDone(isNewChain ? 'the old one was lost: a new one was begun' : '')
  return { httpUrl, isNew: isNewChain, networksFile, solana }
}

async function startSolana(context: Context): Promise<LocalSolana> {
  const { port } = await choosePort('127.0.0.1', SOLANA_PORT)
  await keepProcess(context, 'solana', {
    script: './solana/main.ts',
    args: [String(port)],
    env: { PATH: context.settings.env['PATH'] },
  })
  return describeLocalSolana(port)
}

/** Another chain begins at block 0: what was known of the lost one says nothing about it. */
async function forgetLocalChain(databaseUrl: string, networks: readonly string[]): Promise<void> {
  const db = openDb({ url: databaseUrl, applicationName: 'start', poolSizeMax: 1 })
  const names = networks.map((network) => `${network}:test`)
  try {
    await db.begin(async (tx) => {
      await tx`delete from blocks where deployment in ${tx(names)}`
      await tx`
        update deployments set
          epoch = epoch + 1, leader = null, lease_until = null,
          block_number = null, block_hash = null, block_time = null,
          audited_number = null, audited_time = null,
          head_number = null, head_time = null, head_seen_at = null
        where deployment in ${tx(names)}`
    })
  } finally {
    await closeDb(db, CLOSE_TIMEOUT_MS)
  }
}

type ForProcesses = { databaseUrl: string; encryptionKey: string; networksFile: string }

async function startProcesses(context: Context, given: ForProcesses): Promise<void> {
  const { screen, settings } = context
  const { env, config, api } = settings
  const isDone = screen.step('api, indexer, dispatcher')
  const common = {
    ...env,
    DATABASE_URL: given.databaseUrl,
    NETWORKS_FILE: given.networksFile,
    ENCRYPTION_KEY: given.encryptionKey,
    PUBLIC_URL: settings.publicUrl,
    WEBHOOK_ALLOW_PRIVATE: env['WEBHOOK_ALLOW_PRIVATE']?.trim() || '1',
    LOG_LEVEL: env['LOG_LEVEL']?.trim() || 'info',
    LOG_FORMAT: 'json',
    PORT: String(api.port),
  }
  // One variable, two processes on this machine: the second takes the next port.
  const metrics = (after: number) =>
    config.metricsPort ? { METRICS_PORT: String(config.metricsPort + after) } : {}
  const mailDirectory = join(context.directory, 'mail')
  if (config.smtpUrl === undefined) {
    const show = (line: string) => screen.line(`  ${line}`)
    await context.keep({ name: 'mail', start: () => watchMails(mailDirectory, show) })
  }
  await Promise.all([
    keepProcess(context, 'api', { script: '../../api/main.ts', env: common }),
    keepProcess(context, 'indexer', {
      script: '../../indexer/main.ts',
      env: { ...common, ...metrics(0) },
    }),
    keepProcess(context, 'dispatcher', {
      script: '../../dispatcher/main.ts',
      args: ['--mail-directory', mailDirectory],
      env: { ...common, ...metrics(1) },
    }),
  ])
  await untilOk(`${api.url}/readyz`, 'the API')
  isDone()
}

async function startShop(context: Context, seller: DemoSeller, chain: LocalChain): Promise<void> {
  const { screen, settings, directory } = context
  const isDone = screen.step('demo shop')
  const { host, port, url } = settings.shop
  const configFile = join(directory, 'shop.json')
  const { publishableKey, webhookSecret, products } = seller
  const config = {
    ...{ host, port, apiUrl: settings.publicUrl, rpcUrl: chain.httpUrl, buyer: BUYER },
    ...(chain.solana ? { solanaRpcUrl: chain.solana.httpUrl } : {}),
    ...{ publishableKey, webhookSecret, products },
  }
  await writePrivate(configFile, `${JSON.stringify(config, null, 2)}\n`)
  await keepProcess(context, 'shop', {
    script: './shop/main.ts',
    args: [configFile],
    env: { PATH: settings.env['PATH'] },
  })
  await untilOk(`${url}/healthz`, 'the demo shop')
  isDone()
}

function keepProcess(
  { keep, directory, screen, settings }: Context,
  name: string,
  { script, args = [], env }: { script: string; args?: readonly string[]; env: Env },
): Promise<void> {
  const onLine = createChildLog({
    directory: join(directory, 'logs'),
    name,
    shownLevel: settings.env['LOG_LEVEL']?.trim() ? settings.config.logLevel : 'warn',
    show: (line) => screen.line(line),
  })
  const path = fileURLToPath(new URL(script, import.meta.url))
  return keep({ name, start: async () => spawnChild({ script: path, args, env, onLine }) })
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
