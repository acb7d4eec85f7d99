import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConfigError } from '#shared/config.ts'
import { serve } from '#shared/runtime.ts'

/** Milliseconds that a stopping server waits for open requests. */
const STOP_MS = 500
const ANY_PORT = { hostname: '127.0.0.1', port: 0, variable: 'PORT' } as const

/** A server whose one answer comes when it is let go. */
function startSlow() {
  let letGo = () => {}
  const gone = new Promise<void>((done) => {
    letGo = done
  })
  let arrive = () => {}
  const arrived = new Promise<void>((done) => {
    arrive = done
  })
  const server = serve({
    ...ANY_PORT,
    async fetch() {
      arrive()
      await gone
      return new Response('whole')
    },
  })
  return { server, arrived, letGo }
}

test('a server with nothing to do stops at once, and is gone', async () => {
  const server = serve({ ...ANY_PORT, fetch: () => new Response('here') })
  assert.equal(await (await fetch(server.url)).text(), 'here')
  const startedAtMs = performance.now()
  await server.stop(60_000)
  assert.ok(performance.now() - startedAtMs < 30_000)
  await assert.rejects(fetch(server.url))
})

test('an address of another machine, or a name without one, is a fault of HOST in one line', () => {
  for (const hostname of ['192.0.2.1', 'nowhere.invalid']) {
    assert.throws(
      () => serve({ ...ANY_PORT, hostname, fetch: () => new Response() }),
      (error: ConfigError) =>
        error.faults.join() ===
        `HOST should be an address of this machine: nothing can listen at ${hostname}`,
    )
  }
})

test('a stopping server lets an open request end', async () => {
  const { server, arrived, letGo } = startSlow()
  const answer = fetch(server.url)
  await arrived
  const stopped = server.stop(60_000)
  letGo()
  assert.equal(await (await answer).text(), 'whole')
  await stopped
})

test('a stopping server cuts off a request that takes too long', async () => {
  const { server, arrived, letGo } = startSlow()
  const refused = assert.rejects(fetch(server.url))
  await arrived
  await server.stop(STOP_MS)
  await refused
  letGo()
})
