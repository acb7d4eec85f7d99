import { spawn } from 'node:child_process'
import { createServer, type Socket } from 'node:net'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** Milliseconds for a new server, initdb included, on a busy machine. */
const START_TIMEOUT_MS = 60_000

/** Starts a throw-away Postgres that ends with this process, and answers its superuser's URL. */
export async function startTestPostgres(): Promise<string> {
  const listener = createServer()
  await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done))
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('no port for the keeper')
  const keeper = new Promise<Socket>((done) => listener.once('connection', done))
  spawnKeeper(address.port)
  try {
    const answer = await within(keeper.then(readLine))
    const { url, error } = JSON.parse(answer) as { url?: string; error?: string }
    if (url === undefined) throw new Error(`no Postgres for the tests: ${error}`)
    return url
  } finally {
    listener.close()
  }
}

/** By way of a shell that ends at once: the keeper must not be a child of ours, or it would be killed as one. */
function spawnKeeper(port: number): void {
  const runtime = 'Deno' in globalThis ? [process.execPath, 'run', '-A'] : [process.execPath]
  const keeper = fileURLToPath(new URL('postgres-keeper.ts', import.meta.url))
  const command = [...runtime, keeper, String(port)]
  spawn('/bin/sh', ['-c', '"$@" &', 'sh', ...command], { detached: true, stdio: 'ignore' }).unref()
}

/** The first line; the connection stays open, and does not keep this process alive. */
function readLine(socket: Socket): Promise<string> {
  socket.unref()
  return new Promise((done, failed) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (text.includes('\n')) done(text)
    })
    socket.once('close', () => failed(new Error('the keeper of the test database ended')))
    socket.once('error', failed)
  })
}

async function within<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, failed) => {
    const error = new Error(`no Postgres for the tests within ${START_TIMEOUT_MS} ms`)
    timer = setTimeout(failed, START_TIMEOUT_MS, error)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
