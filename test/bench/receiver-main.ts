import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'

/**
 * A seller's server as a process of its own: answers 200 at once, never answers below `/dead`, and tells
 * at `/times` when each event id arrived first (milliseconds since 1970).
 */
const times = new Map<string, number>()

const server = createServer((request, response) => {
  if (request.url === '/times') {
    response.end(JSON.stringify([...times]))
    return
  }
  if (request.url === '/clear') {
    times.clear()
    response.end()
    return
  }
  request.on('data', () => undefined)
  request.on('end', () => {
    if (request.url?.startsWith('/dead')) return
    const id = String(request.headers['x-service-delivery'])
    if (!times.has(id)) times.set(id, performance.timeOrigin + performance.now())
    response.end('ok')
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
