import { readFileSync } from 'node:fs'
import process from 'node:process'
import { createShop, type ShopConfig } from './server.ts'

/** The demo seller's shop: `main.ts CONFIG_FILE`, where the file is a `ShopConfig` in JSON. */
const [, , configFile] = process.argv
if (configFile === undefined) {
  process.stderr.write('say which file holds the shop’s configuration\n')
  process.exit(78)
}
const config = JSON.parse(readFileSync(configFile, 'utf8')) as ShopConfig
const server = createShop(config)
server.on('error', (error) => {
  process.stderr.write(`the demo shop cannot listen on port ${config.port}: ${error.message}\n`)
  process.exit(1)
})
server.listen(config.port, config.host)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))
