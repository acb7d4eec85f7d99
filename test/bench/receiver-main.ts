import process from 'node:process'
import { serve } from '#shared/runtime.ts'

/**
 * A seller's server as a process of its own: answers 200 at once, never answers below `/dead`, and tells
 * at `/times` when each event id arrived first (milliseconds since 1970). As lean as the runtime allows:
 * it shares the machine with what is measured.
 */
const times = new Map<string, number>()
const never = new Promise<Response>(() => undefined)

const server = serve({
  hostname: '127.0.0.1',
  port: 0,
  variable: 'PORT',
  async fetch(request) {
    const id = request.headers.get('x-service-delivery')
    if (id === null) return answerAsked(new URL(request.url).pathname)
    await request.arrayBuffer()
    if (request.url.includes('/dead')) return never
    if (!times.has(id)) times.set(id, performance.timeOrigin + performance.now())
    return new Response('ok')
  },
})
process.stdout.write(`${server.port}\n`)

function answerAsked(path: string): Response {
  if (path === '/clear') times.clear()
  return Response.json(path === '/times' ? [...times] : [])
}
