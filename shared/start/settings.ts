import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { type Config, ConfigError, type Env, loadConfig } from '#shared/config.ts'
import { choosePort, isPortFree } from '#shared/start/ports.ts'

/** What was asked for in the environment, checked. */
export type Settings = {
  env: Env
  config: Config
  /** As the operator's own file says, or undefined. */
  networks: unknown
  /** Where the API listens, and how it is reached from this machine. */
  api: Place
  shop: Place
  /** What buyers are sent to. */
  publicUrl: string
  /** One line for each port that was taken. */
  notes: string[]
}

export type Place = { host: string; port: number; url: string }

const API_PORT = 3000
const SHOP_PORT = 3100

/** Reads the environment and finds the ports. Throws `ConfigError`, of a given `PORT` that is taken as well. */
export async function readSettings(env: Env): Promise<Settings> {
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const config = loadConfig(env, { readFile })
  const { host } = config
  const notes: string[] = []
  const given = env['PORT']?.trim()
  if (given && config.port > 0 && !(await onThisMachine(isPortFree(host, config.port)))) {
    throw new ConfigError([`PORT should be a free one: ${config.port} on ${host} is taken`])
  }
  const port = await choose(host, given ? config.port : API_PORT, 'the API', notes)
  const shopPort = await choose(host, SHOP_PORT, 'the demo shop', notes, port)
  const networksFile = env['NETWORKS_FILE']?.trim()
  return {
    env,
    config,
    networks: networksFile ? JSON.parse(readFile(networksFile)) : undefined,
    api: { host, port, url: urlOf(host, port) },
    shop: { host, port: shopPort, url: urlOf(host, shopPort) },
    publicUrl: env['PUBLIC_URL']?.trim() ? config.publicUrl : urlOf(host, port),
    notes,
  }
}

async function choose(
  host: string,
  wanted: number,
  what: string,
  notes: string[],
  besides?: number,
): Promise<number> {
  const { port, isOther } = await onThisMachine(choosePort(host, wanted, besides))
  if (isOther) notes.push(`port ${wanted} is taken: ${what} listens on ${port} instead`)
  return port
}

/** What listening says of a host that is not ours is a fault of the configuration. */
async function onThisMachine<T>(listening: Promise<T>): Promise<T> {
  try {
    return await listening
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`HOST should be an address of this machine: ${reason}`])
  }
}

/** A server on every address is reached at the loopback one. */
function urlOf(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}
