import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createOrders, type Orders } from './orders.ts'
import { page } from './page.ts'
import { verifyWebhook } from './verify.ts'
import { type Payment, pay, WAYS } from './wallet.ts'

/** A seller's own settings: what a shop gets from the service, and the demo's wallet. */
export type ShopConfig = {
  host: string
  port: number
  /** The service's `{PUBLIC_URL}`. */
  apiUrl: string
  publishableKey: string
  webhookSecret: string
  products: { priceId: string; name: string; amountCents: number }[]
  /** The local chain, and the account on it that plays the buyer. */
  rpcUrl: string
  buyer: string
  /** A local Solana whose node pays, when there is one. */
  solanaRpcUrl?: string
}

type Shop = ShopConfig & {
  orders: Orders
  /** Settles when the wallet has sent what it was asked to: it sends one payment after the other, as the node counts them. */
  lastPaid: Promise<unknown>
}
type Route = (shop: Shop, request: IncomingMessage, response: ServerResponse) => unknown

/** Bytes of a request's body; a webhook has a few kilobytes. */
const BODY_BYTES_MAX = 65_536
const CALL_TIMEOUT_MS = 10_000
/** Milliseconds between signs of life on a stream, so that nothing between takes it for dead. */
const ALIVE_MS = 15_000

const SCRIPT = readFileSync(new URL('./public/shop.js', import.meta.url))
const STYLE = readFileSync(new URL('./public/shop.css', import.meta.url))

const ROUTES: Readonly<Record<string, Route>> = {
  'GET /': (shop, _, response) => {
    response.setHeader('content-security-policy', policy(shop.apiUrl))
    send(response, 200, 'text/html; charset=utf-8', page(shop))
  },
  'GET /shop.js': (_, __, response) =>
    send(response, 200, 'text/javascript; charset=utf-8', SCRIPT),
  'GET /shop.css': (_, __, response) => send(response, 200, 'text/css; charset=utf-8', STYLE),
  'GET /healthz': (_, __, response) => sendJson(response, 200, { status: 'OK' }),
  'GET /received': streamReceived,
  'POST /webhook': receiveWebhook,
  'POST /pay': payFromWallet,
}

/** The demo seller's web server: the page, the receiver of webhooks, and the wallet's button. */
export function createShop(config: ShopConfig): Server {
  const shop: Shop = { ...config, orders: createOrders(), lastPaid: Promise.resolve() }
  return createServer(async (request, response) => {
    response.setHeader('x-content-type-options', 'nosniff')
    response.setHeader('referrer-policy', 'no-referrer')
    response.setHeader('cache-control', 'no-store')
    const { pathname } = new URL(request.url ?? '/', 'http://shop')
    const route = ROUTES[`${request.method} ${pathname}`]
    if (!route) return sendJson(response, 404, { error: 'no such page' })
    try {
      await route(shop, request, response)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (!response.headersSent) sendJson(response, 502, { error: message })
    }
  })
}

/** What a seller does with a delivery: check the raw bytes, acknowledge at once, act once per id. */
async function receiveWebhook(
  { orders, webhookSecret }: Shop,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const raw = await readBody(request)
  if (raw === undefined) return sendJson(response, 413, { error: 'too large' })
  const signature = headerOf(request, 'x-service-signature')
  const verdict = verifyWebhook(signature, raw, webhookSecret, Date.now() / 1000)
  const body = raw.toString('utf8')
  const event = verdict.isGenuine ? readEvent(body) : { type: '', paymentId: null }
  orders.receive({
    at: new Date().toISOString(),
    eventId: headerOf(request, 'x-service-delivery') ?? '',
    type: event.type || (headerOf(request, 'x-service-event') ?? 'unknown'),
    paymentId: event.paymentId,
    isGenuine: verdict.isGenuine,
    verdict: verdict.isGenuine ? 'signature valid' : `refused: ${verdict.reason}`,
    body,
  })
  if (verdict.isGenuine) sendJson(response, 200, { received: true })
  else sendJson(response, 400, { error: verdict.reason })
}

function readEvent(body: string): { type: string; paymentId: string | null } {
  const { type, data } = JSON.parse(body) as { type: string; data?: { paymentId?: string } }
  return { type, paymentId: data?.paymentId ?? null }
}

/** Plays the buyer: reads the payment from the service and sends real transfers on the local chain. */
async function payFromWallet(
  shop: Shop,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A form of another site cannot send this type.
  const isJson = headerOf(request, 'content-type')?.startsWith('application/json')
  const raw = isJson ? await readBody(request) : undefined
  const wanted = raw && (JSON.parse(raw.toString('utf8')) as { paymentId?: unknown; way?: unknown })
  const way = WAYS.find((word) => word === wanted?.way)
  const paymentId = String(wanted ? wanted.paymentId : '')
  if (!way || !/^pay_\w{1,100}$/.test(paymentId)) {
    return sendJson(response, 400, { error: `send a paymentId, and a way: ${WAYS.join(', ')}` })
  }
  const answer = await fetch(`${shop.apiUrl}/v1/payments/${paymentId}`, {
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  if (!answer.ok)
    return sendJson(response, answer.status, { error: 'the service has no such payment' })
  const payment = (await answer.json()) as Payment
  const paying = shop.lastPaid.then(() => pay(shop, payment, way))
  shop.lastPaid = paying.catch(() => undefined)
  const txHashes = await paying
  sendJson(response, 200, { txHashes })
}

/** Server-sent events: every delivery received so far, then each as it comes. */
function streamReceived(
  { orders }: Shop,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  const write = (received: object) => response.write(`data: ${JSON.stringify(received)}\n\n`)
  for (const received of orders.list()) write(received)
  const unwatch = orders.watch(write)
  const alive = setInterval(() => response.write(': alive\n\n'), ALIVE_MS)
  request.on('close', () => {
    clearInterval(alive)
    unwatch()
  })
}

/** The bytes as they came, or undefined when there are too many. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let byteCount = 0
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    byteCount += chunk.length
    if (byteCount > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Nothing from elsewhere but calls to the service. */
function policy(apiUrl: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src 'self' ${new URL(apiUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, 'application/json', JSON.stringify(body))
}

function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
