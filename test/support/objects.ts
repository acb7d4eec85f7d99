import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { TestApi } from './api.ts'
import { seedTransfer } from './chain-rows.ts'
import { randomEvmAddress, type SeededStore, seedPrice, seedWallet } from './seed.ts'
import { seedDelivery, seedEvent } from './seller.ts'

/** The kinds, by the prefix of their ids. */
export type ObjectKind =
  | 'key'
  | 'wal'
  | 'dlv'
  | 'prod'
  | 'price'
  | 'plink'
  | 'cs'
  | 'pay'
  | 'trf'
  | 'sub'

/** Makes an object of a store and mode, and answers its id. */
type Seeder = (api: TestApi, seller: SeededStore, mode: Mode) => Promise<string>

/**
 * One of each object that belongs to a store and has a mode, as an ordinary day makes it. A new kind of object is one
 * entry here and its rows in the tenancy matrix.
 */
export const SEED_OBJECT: Record<ObjectKind, Seeder> = {
  key: async ({ database }, { keys }, mode) => {
    const [row] = await database.db<{ keyId: string }[]>`
      select key_id from keys where publishable_key = ${keys[mode].publishable}`
    return row?.keyId ?? ''
  },
  wal: async ({ database }, { store }, mode) => {
    const wallet = { network: 'ethereum', mode, address: randomEvmAddress() }
    return (await seedWallet(database.db, store.storeId, wallet)).walletId
  },
  dlv: async ({ database }, { store, account }, mode) => {
    const event = await seedEvent(database.db, { ...store, ...account, mode })
    return seedDelivery(database.db, event)
  },
  prod: async ({ database }, { store }, mode) =>
    (await seedPrice(database.db, store.storeId, { mode })).productId,
  price: async ({ database }, { store }, mode) =>
    (await seedPrice(database.db, store.storeId, { mode })).priceId,
  plink: async (api, seller, mode) => {
    const priceId = await SEED_OBJECT.price(api, seller, mode)
    const path = `/v1/stores/${seller.store.storeId}/payment-links`
    return create(api, seller, mode, path, { priceId }, 'paymentLinkId')
  },
  cs: (api, seller, mode) =>
    create(api, seller, mode, '/v1/checkout/sessions', { amountCents: 700 }, 'sessionId'),
  pay: (api, seller, mode) => checkOut(api, seller, mode, { amount: 500 }),
  trf: async ({ database }, seller, mode) =>
    (await seedTransfer(database.db, [seller], { mode })).transferId,
  sub: async (api, seller, mode) => {
    const price = { mode, interval: 'MONTH' } as const
    const { priceId } = await seedPrice(api.database.db, seller.store.storeId, price)
    const paymentId = await checkOut(api, seller, mode, { priceId })
    const [row] = await api.database.db<{ subscriptionId: string }[]>`
      select subscription_id from payments where payment_id = ${paymentId}`
    return row?.subscriptionId ?? ''
  },
}

/** An id of this kind that nobody has. */
export function unknownId(kind: ObjectKind): string {
  return newId(kind)
}

async function checkOut(
  api: TestApi,
  { keys }: SeededStore,
  mode: Mode,
  paidFor: { amount: number } | { priceId: string },
): Promise<string> {
  const { body } = await api.call('POST', '/v1/checkout', {
    body: { publishableKey: keys[mode].publishable, network: 'base', token: 'usdc', ...paidFor },
    headers: { Origin: 'https://shop.example' },
  })
  return body.paymentId
}

async function create(
  api: TestApi,
  { keys }: SeededStore,
  mode: Mode,
  path: string,
  body: unknown,
  idField: string,
): Promise<string> {
  const answer = await api.call('POST', path, { key: keys[mode].secret, body })
  if (answer.status !== 201) throw new Error(`${path} answered ${answer.text}`)
  return answer.body[idField]
}
