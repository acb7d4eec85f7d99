import { type Db, withTransaction } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Interval } from '#shared/subscriptions/events.ts'
import type { Stretch } from '../list.ts'

/** Whose catalog, and in which modes it is looked at. */
export type Scope = { storeId: string; modes: readonly Mode[] }

type Metadata = Record<string, string>

export type ProductRow = {
  productId: string
  mode: Mode
  name: string
  description: string | null
  imageUrl: string | null
  metadata: Metadata | null
  active: boolean
  createdAt: Date
}

export type PriceRow = {
  priceId: string
  mode: Mode
  productId: string
  amountCents: number
  interval: Interval | null
  intervalCount: number
  networks: string[] | null
  tokens: string[] | null
  active: boolean
  /** It is active, and so is its product. */
  isSold: boolean
  createdAt: Date
}

export type PaymentLinkRow = {
  paymentLinkId: string
  mode: Mode
  priceId: string
  metadata: Metadata | null
  active: boolean
  createdAt: Date
}

/** Leaves a column as it is; null empties it. */
export type Change<T> = { [K in keyof T]?: T[K] | undefined }

export async function insertProduct(
  db: Db,
  storeId: string,
  row: Omit<ProductRow, 'active' | 'createdAt'>,
): Promise<ProductRow[]> {
  return db<ProductRow[]>`
    insert into products (product_id, store_id, mode, name, description, image_url, metadata)
    values (${row.productId}, ${storeId}, ${row.mode}, ${row.name}, ${row.description}, ${row.imageUrl},
      ${toJson(db, row.metadata)})
    returning product_id, mode, name, description, image_url, metadata, active, created_at`
}

export async function readProduct(
  db: Db,
  { storeId, modes }: Scope,
  productId: string,
): Promise<ProductRow[]> {
  return db<ProductRow[]>`
    select product_id, mode, name, description, image_url, metadata, active, created_at
    from products
    where product_id = ${productId} and store_id = ${storeId} and mode = any (${[...modes]})`
}

/** Changes a product, and with its flag whether its prices are sold. */
export async function updateProduct(
  db: Db,
  { storeId, mode }: { storeId: string; mode: Mode },
  productId: string,
  change: Change<Pick<ProductRow, 'name' | 'description' | 'imageUrl' | 'metadata' | 'active'>>,
): Promise<ProductRow[]> {
  const { name, description, imageUrl, metadata, active } = change
  return withTransaction(db, async (tx) => {
    const rows = await tx<ProductRow[]>`
      update products set
        name = coalesce(${name ?? null}, name),
        description = case when ${description !== undefined} then ${description ?? null} else description end,
        image_url = case when ${imageUrl !== undefined} then ${imageUrl ?? null} else image_url end,
        metadata = case when ${metadata !== undefined} then ${toJson(db, metadata)}::jsonb else metadata end,
        active = coalesce(${active ?? null}, active)
      where product_id = ${productId} and store_id = ${storeId} and mode = ${mode}
      returning product_id, mode, name, description, image_url, metadata, active, created_at`
    // A statement of its own: it sees the prices that were made while this one waited for the product's row.
    if (rows.length > 0 && active !== undefined) {
      await tx`
        update prices set product_active = ${active}
        where product_id = ${productId} and product_active <> ${active}`
    }
    return rows
  })
}

export async function listProductRows(
  db: Db,
  storeId: string,
  { mode, from, before, limit }: Stretch,
): Promise<ProductRow[]> {
  return db<ProductRow[]>`
    select product_id, mode, name, description, image_url, metadata, active, created_at
    from products
    where (store_id, mode, product_id) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, product_id) < (${storeId}, ${mode}, ${before})
    order by store_id desc, mode desc, product_id desc
    limit ${limit}`
}

/**
 * Inserts a price of a product of the same store and mode; no row when there is no such product. The product is locked
 * against being archived meanwhile.
 */
export async function insertPrice(
  db: Db,
  storeId: string,
  row: Omit<PriceRow, 'active' | 'isSold' | 'createdAt'>,
): Promise<PriceRow[]> {
  return db<PriceRow[]>`
    insert into prices (price_id, store_id, mode, product_id, amount_cents, interval, interval_count, networks,
      tokens, product_active)
    select ${row.priceId}, p.store_id, p.mode, p.product_id, ${row.amountCents}, ${row.interval}, ${row.intervalCount},
      ${row.networks}::text[], ${row.tokens}::text[], p.active
    from products p
    where p.product_id = ${row.productId} and p.store_id = ${storeId} and p.mode = ${row.mode}
    for share
    returning price_id, mode, product_id, amount_cents, interval, interval_count, networks, tokens, active, is_sold, created_at`
}

export async function readPrice(
  db: Db,
  { storeId, modes }: Scope,
  priceId: string,
): Promise<PriceRow[]> {
  return db<PriceRow[]>`
    select price_id, mode, product_id, amount_cents, interval, interval_count, networks, tokens, active, is_sold, created_at
    from prices
    where price_id = ${priceId} and store_id = ${storeId} and mode = any (${[...modes]})`
}

export async function updatePrice(
  db: Db,
  { storeId, mode }: { storeId: string; mode: Mode },
  priceId: string,
  { active }: Change<Pick<PriceRow, 'active'>>,
): Promise<PriceRow[]> {
  return db<PriceRow[]>`
    update prices set active = coalesce(${active ?? null}, active)
    where price_id = ${priceId} and store_id = ${storeId} and mode = ${mode}
    returning price_id, mode, product_id, amount_cents, interval, interval_count, networks, tokens, active, is_sold, created_at`
}

export async function listPriceRows(
  db: Db,
  storeId: string,
  { mode, from, before, limit }: Stretch,
): Promise<PriceRow[]> {
  return db<PriceRow[]>`
    select price_id, mode, product_id, amount_cents, interval, interval_count, networks, tokens, active, is_sold, created_at
    from prices
    where (store_id, mode, price_id) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, price_id) < (${storeId}, ${mode}, ${before})
    order by store_id desc, mode desc, price_id desc
    limit ${limit}`
}

export async function insertPaymentLink(
  db: Db,
  storeId: string,
  row: Omit<PaymentLinkRow, 'active' | 'createdAt'>,
): Promise<PaymentLinkRow[]> {
  return db<PaymentLinkRow[]>`
    insert into payment_links (payment_link_id, store_id, mode, price_id, metadata)
    values (${row.paymentLinkId}, ${storeId}, ${row.mode}, ${row.priceId}, ${toJson(db, row.metadata)})
    returning payment_link_id, mode, price_id, metadata, active, created_at`
}

export async function readPaymentLink(
  db: Db,
  { storeId, modes }: Scope,
  paymentLinkId: string,
): Promise<PaymentLinkRow[]> {
  return db<PaymentLinkRow[]>`
    select payment_link_id, mode, price_id, metadata, active, created_at
    from payment_links
    where payment_link_id = ${paymentLinkId} and store_id = ${storeId} and mode = any (${[...modes]})`
}

export async function updatePaymentLink(
  db: Db,
  { storeId, mode }: { storeId: string; mode: Mode },
  paymentLinkId: string,
  { metadata, active }: Change<Pick<PaymentLinkRow, 'metadata' | 'active'>>,
): Promise<PaymentLinkRow[]> {
  return db<PaymentLinkRow[]>`
    update payment_links set
      metadata = case when ${metadata !== undefined} then ${toJson(db, metadata)}::jsonb else metadata end,
      active = coalesce(${active ?? null}, active)
    where payment_link_id = ${paymentLinkId} and store_id = ${storeId} and mode = ${mode}
    returning payment_link_id, mode, price_id, metadata, active, created_at`
}

export async function listPaymentLinkRows(
  db: Db,
  storeId: string,
  { mode, from, before, limit }: Stretch,
): Promise<PaymentLinkRow[]> {
  return db<PaymentLinkRow[]>`
    select payment_link_id, mode, price_id, metadata, active, created_at
    from payment_links
    where (store_id, mode, payment_link_id) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, payment_link_id) < (${storeId}, ${mode}, ${before})
    order by store_id desc, mode desc, payment_link_id desc
    limit ${limit}`
}

function toJson(db: Db, metadata: Metadata | null | undefined) {
  return metadata ? db.json(metadata) : null
}
