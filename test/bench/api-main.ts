import process from 'node:process'
import { loadConfig } from '#shared/config.ts'
import { openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { buildDeployments } from '#shared/networks/registry.ts'
import { startApi } from '../../api/start.ts'
import { serveUsage } from './usage.ts'

/** The API as it is, on the database named by the first argument. Prints where it and its usage are found. */
const url = process.argv[2] ?? ''
const config = loadConfig(
  {
    DATABASE_URL: url,
    ENCRYPTION_KEY: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    // Clients come from many addresses, which the load names as a proxy would.
    TRUSTED_PROXIES: '127.0.0.0/8',
    PORT: '0',
  },
  { readFile: () => '', requires: ['encryptionKey'] },
)
const deployments = buildDeployments({ base: { test: { rpc: ['http://127.0.0.1:9'] } } })
const api = startApi({
  config: { ...config, deployments },
  db: openDb({ url, applicationName: 'bench-api' }),
  log: silentLog,
})
await api.ready
process.stdout.write(`${JSON.stringify({ url: api.url, usageUrl: serveUsage() })}\n`)
