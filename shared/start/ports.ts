import { createServer } from 'node:net'

const PORT_MAX = 65_535
/** Ports above the wanted one that are tried before the system is asked for any. */
const NEIGHBOURS_MAX = 20

/** What the wanted port turned out to be. */
export type PortChoice = { port: number; isOther: boolean }

/**
 * The wanted port, or a free one near it, but never the one it has to be besides. Throws what the system says of the host
 * (not an address of this machine).
 */
export async function choosePort(
  host: string,
  wanted: number,
  besides?: number,
): Promise<PortChoice> {
  const last = Math.min(wanted + NEIGHBOURS_MAX, PORT_MAX)
  for (let port = wanted; port > 0 && port <= last; port += 1) {
    if (port !== besides && (await isPortFree(host, port))) {
      return { port, isOther: port !== wanted }
    }
  }
  const port = await tryListen(host, 0)
  if (port === undefined) throw new Error(`no free port on ${host}`)
  return { port, isOther: wanted > 0 }
}

/** Whether a server could listen there now. */
export async function isPortFree(host: string, port: number): Promise<boolean> {
  return (await tryListen(host, port)) !== undefined
}

/** Listens for a moment; the port that it got, or undefined when it is taken (or not allowed). */
async function tryListen(host: string, port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    await new Promise<void>((done, failed) => {
      server.once('error', failed)
      server.listen({ host, port, exclusive: true }, done)
    })
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === 'EADDRINUSE' || code === 'EACCES') return undefined
    throw error
  }
  const address = server.address()
  await new Promise((done) => server.close(done))
  return typeof address === 'object' && address !== null ? address.port : undefined
}
