import { isIP, type Socket } from 'node:net'

/** Longest answer of a proxy to CONNECT, in bytes. */
const TUNNEL_HEAD_BYTES_MAX = 16_384

/** A forward proxy, from `EGRESS_PROXY`. */
export type ForwardProxy = {
  readonly host: string
  readonly port: number
  /** Value of `Proxy-Authorization`, or null. */
  readonly authorization: string | null
}

/**
 * Reads `EGRESS_PROXY`, `http://[user:password@]host[:port]`.
 *
 * @throws TypeError when it is not an http URL
 */
export function proxyOf(text: string): ForwardProxy {
  const url = new URL(text)
  if (url.protocol !== 'http:') throw new TypeError('EGRESS_PROXY must begin with http://')
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 80 : Number(url.port),
    authorization: user === ':' ? null : `Basic ${Buffer.from(user).toString('base64')}`,
  }
}

/**
 * Asks the proxy for a tunnel to a vetted *address*: were it given the name, the proxy would resolve
 * it again and the check would be worth nothing. Plain http goes through a tunnel too, for the same
 * reason.
 *
 * @throws Error when the proxy refuses, ends, talks too much or the signal fires
 */
export function openTunnel(
  socket: Socket,
  proxy: ForwardProxy,
  to: { readonly address: string; readonly port: number },
  signal: AbortSignal,
): Promise<void> {
  const authority = `${isIP(to.address) === 6 ? `[${to.address}]` : to.address}:${to.port}`
  const authorization =
    proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0)
    const finish = (error: Error | null) => {
      socket.off('data', onData).off('error', onError).off('close', onEnd)
      signal.removeEventListener('abort', onEnd)
      if (error === null) return resolve()
      socket.on('error', () => undefined)
      reject(error)
    }
    const onError = (error: Error) => finish(error)
    const onEnd = () => finish(new Error('the proxy gave no tunnel'))
    const onData = (bytes: Buffer) => {
      head = Buffer.concat([head, bytes])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0 && head.length <= TUNNEL_HEAD_BYTES_MAX) return
      const isOpen = /^HTTP\/1\.[01] 2\d\d[ \r]/.test(head.toString('latin1', 0, 16))
      // The far side speaks second in HTTP and in TLS: bytes behind the head can't be its own.
      finish(isOpen && head.length === end + 4 ? null : new Error('the proxy refused the tunnel'))
    }
    socket.on('data', onData).on('error', onError).on('close', onEnd)
    signal.addEventListener('abort', onEnd)
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`)
  })
}
