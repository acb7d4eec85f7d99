import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readIfThere, writePrivate } from '#shared/start/private-files.ts'
import { DEV_ACCOUNTS } from '#shared/start/tokens/token.ts'

/** The seller that `bun start` signs up, with what a person may want to use: kept, since keys are shown once. */
export type DemoSeller = {
  email: string
  password: string
  storeId: string
  publishableKey: string
  secretKey: string
  webhookSecret: string
  products: { priceId: string; name: string; amountCents: number }[]
}

type Target = {
  /** Where the API listens. */
  apiUrl: string
  /** Where the seller wants to be told. */
  webhookUrl: string
}

const DEMO_FILE = 'demo.json'
const PASSWORD_BYTES = 18
const CALL_TIMEOUT_MS = 10_000
/** Child m/44'/60'/1'/0 of Anvil's well-known test mnemonic: everybody can spend what arrives there. */
const XPUB =
  'xpub6EFHUEbYV13535ChA9yg5xZTWowwFCmFoWnhLbwkd91xHoirGu89GTZwBSUBnBpFeY5EV2cgof8yuyDnkeGALcD8DgGYJSiQfkxKpunWTX1'
/** Both kinds of wallet: one address for each payment, and one for all of them. */
const WALLETS = [
  { network: 'base', xpub: XPUB },
  { network: 'ethereum', address: DEV_ACCOUNTS[9] },
  { network: 'bnb', address: DEV_ACCOUNTS[9] },
]
const PRODUCTS = [
  { name: 'Coffee beans', amountCents: 1_250 },
  { name: 'Ceramic mug', amountCents: 2_400 },
  { name: 'Hand grinder', amountCents: 18_900 },
]

/**
 * The seller of an earlier start, told where the shop is now; or a new one when the database does not know it. All through the
 * API, as any seller would. Throws what the API says.
 */
export async function keepDemoSeller(directory: string, target: Target): Promise<DemoSeller> {
  const path = join(directory, DEMO_FILE)
  const kept = await readIfThere(path)
  const known = kept === undefined ? undefined : (JSON.parse(kept) as DemoSeller)
  const seller = (known && (await resume(known, target))) ?? (await signUp(target))
  await writePrivate(path, `${JSON.stringify(seller, null, 2)}\n`)
  return seller
}

async function resume(known: DemoSeller, target: Target): Promise<DemoSeller | undefined> {
  const path = `/stores/${known.storeId}/webhook`
  const body = { url: target.webhookUrl }
  const answer = await send(target, 'PUT', path, { body, key: known.secretKey })
  if (answer.status === 401 || answer.status === 404) return undefined
  const { secret } = check(answer, path) as { secret?: string }
  return { ...known, webhookSecret: secret ?? known.webhookSecret }
}

async function signUp(target: Target): Promise<DemoSeller> {
  const email = `demo-${randomBytes(4).toString('hex')}@demo.test`
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const { store, keys } = await post<SignUp>(target, '/accounts', {
    body: { email, password, sellerName: 'Corner Roastery' },
  })
  const keyOf = (kind: string) =>
    keys.find((key) => key.kind === kind && key.mode === 'test')?.key ?? ''
  const key = keyOf('SECRET')
  const place = `/stores/${store.storeId}`
  for (const body of WALLETS) await post(target, `${place}/wallets`, { body, key })
  const products: DemoSeller['products'] = []
  for (const { name, amountCents } of PRODUCTS) {
    const { productId } = await post<{ productId: string }>(target, `${place}/products`, {
      ...{ body: { name }, key },
    })
    const { priceId } = await post<{ priceId: string }>(target, `${place}/prices`, {
      ...{ body: { productId, amountCents }, key },
    })
    products.push({ priceId, name, amountCents })
  }
  const body = { url: target.webhookUrl }
  const path = `${place}/webhook`
  const { secret } = check(await send(target, 'PUT', path, { body, key }), path) as {
    secret: string
  }
  return {
    ...{ email, password, storeId: store.storeId },
    ...{ publishableKey: keyOf('PUBLISHABLE'), secretKey: key, webhookSecret: secret, products },
  }
}

type SignUp = {
  store: { storeId: string }
  keys: { kind: string; mode: string; key: string }[]
}
type Answer = { status: number; body: unknown }
type Request = { body: unknown; key?: string }

async function post<T>(target: Target, path: string, request: Request): Promise<T> {
  return check(await send(target, 'POST', path, request), path) as T
}

async function send(
  { apiUrl }: Target,
  method: string,
  path: string,
  { body, key }: Request,
): Promise<Answer> {
  const response = await fetch(`${apiUrl}/v1${path}`, {
    method,
    headers: {
      'Content-Type': 'application/json',
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  return { status: response.status, body: await response.json() }
}

function check({ status, body }: Answer, path: string): unknown {
  if (status < 300) return body
  const { error } = body as { error?: { code?: string; message?: string } }
  throw new Error(`the demo store cannot be made (${path}): ${error?.code}: ${error?.message}`)
}
