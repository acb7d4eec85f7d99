import { assert } from '#shared/assert.ts'
import { type ErrorCode, fail } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { centsToDecimal } from '#shared/money.ts'
import type { Deployment, Mode } from '#shared/networks/registry.ts'
import type { Interval } from '#shared/subscriptions/events.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { checkId, checkMetadata, checkUrl, whenSet } from '../fields.ts'
import { type List, readSlice, sliceToPage } from '../list.ts'
import { readPage } from '../pagination.ts'
import type {
  CatalogQuery,
  PaymentLinkBody,
  PaymentLinkObject,
  PaymentLinkPatch,
  PriceBody,
  PriceObject,
  PricePatch,
  ProductBody,
  ProductObject,
  ProductPatch,
} from './model.ts'
import {
  insertPaymentLink,
  insertPrice,
  insertProduct,
  listPaymentLinkRows,
  listPriceRows,
  listProductRows,
  type PaymentLinkRow,
  type PriceRow,
  type ProductRow,
  readPaymentLink,
  readPrice,
  readProduct,
  updatePaymentLink,
  updatePrice,
  updateProduct,
} from './queries.ts'

/** Longest period of a recurring price: three years of each kind. */
const INTERVAL_COUNT_MAX: Record<Interval, number> = { DAY: 1_095, WEEK: 156, MONTH: 36, YEAR: 3 }

/** Error: invalid_request. */
export async function createProduct(
  deps: ApiDeps,
  caller: StoreCaller,
  body: ProductBody,
): Promise<ProductObject> {
  checkProduct(body)
  const { name, description = null, imageUrl = null, metadata = null } = body
  const row = { productId: newId('prod'), mode: caller.mode, name, description, imageUrl, metadata }
  return toProduct(one(await insertProduct(deps.db, caller.storeId, row), 'internal_error'))
}

/** Error: product_not_found. */
export async function showProduct(
  deps: ApiDeps,
  caller: StoreCaller,
  productId: string,
): Promise<ProductObject> {
  checkId('prod', productId, 'product_not_found')
  return toProduct(one(await readProduct(deps.db, caller, productId), 'product_not_found'))
}

/** Errors: invalid_request, product_not_found. */
export async function changeProduct(
  deps: ApiDeps,
  caller: StoreCaller,
  productId: string,
  patch: ProductPatch,
): Promise<ProductObject> {
  checkId('prod', productId, 'product_not_found')
  checkProduct(patch)
  return toProduct(one(await updateProduct(deps.db, caller, productId, patch), 'product_not_found'))
}

/** Errors: invalid_request, mode_mismatch. */
export async function listProducts(deps: ApiDeps, caller: StoreCaller, query: CatalogQuery) {
  const list: List<ProductRow> = {
    read: (stretch) => listProductRows(deps.db, caller.storeId, stretch),
    idOf: (row) => row.productId,
  }
  return listCatalog('products', caller, query, list, toProduct)
}

/** Errors: invalid_request, network_not_accepted, token_not_accepted, product_not_found. */
export async function createPrice(
  deps: ApiDeps,
  caller: StoreCaller,
  body: PriceBody,
): Promise<PriceObject> {
  checkInterval(body)
  checkNetworks(deps.config.deployments, caller.mode, body)
  const row = {
    priceId: newId('price'),
    mode: caller.mode,
    productId: body.productId,
    amountCents: body.amountCents,
    interval: body.interval ?? null,
    intervalCount: body.intervalCount ?? 1,
    networks: body.networks ?? null,
    tokens: body.tokens ?? null,
  }
  const rows = await insertPrice(deps.db, caller.storeId, row)
  return toPrice(one(rows, 'product_not_found', 'productId'))
}

/** Error: price_not_found. */
export async function showPrice(
  deps: ApiDeps,
  caller: StoreCaller,
  priceId: string,
): Promise<PriceObject> {
  checkId('price', priceId, 'price_not_found')
  return toPrice(one(await readPrice(deps.db, caller, priceId), 'price_not_found'))
}

/** Error: price_not_found. */
export async function changePrice(
  deps: ApiDeps,
  caller: StoreCaller,
  priceId: string,
  patch: PricePatch,
): Promise<PriceObject> {
  checkId('price', priceId, 'price_not_found')
  return toPrice(one(await updatePrice(deps.db, caller, priceId, patch), 'price_not_found'))
}

/** Errors: invalid_request, mode_mismatch. */
export async function listPrices(deps: ApiDeps, caller: StoreCaller, query: CatalogQuery) {
  const list: List<PriceRow> = {
    read: (stretch) => listPriceRows(deps.db, caller.storeId, stretch),
    idOf: (row) => row.priceId,
  }
  return listCatalog('prices', caller, query, list, toPrice)
}

/** Errors: invalid_request, price_not_found, price_inactive. */
export async function createPaymentLink(
  deps: ApiDeps,
  caller: StoreCaller,
  { priceId, metadata }: PaymentLinkBody,
): Promise<PaymentLinkObject> {
  checkMetadata(metadata)
  const scope = { storeId: caller.storeId, modes: [caller.mode] }
  const price = one(await readPrice(deps.db, scope, priceId), 'price_not_found', 'priceId')
  if (!price.isSold) fail('price_inactive', { param: 'priceId' })
  const row = {
    paymentLinkId: newId('plink'),
    mode: caller.mode,
    priceId,
    metadata: metadata ?? null,
  }
  const rows = await insertPaymentLink(deps.db, caller.storeId, row)
  return toPaymentLink(deps, one(rows, 'internal_error'))
}

/** Error: payment_link_not_found. */
export async function showPaymentLink(
  deps: ApiDeps,
  caller: StoreCaller,
  paymentLinkId: string,
): Promise<PaymentLinkObject> {
  checkId('plink', paymentLinkId, 'payment_link_not_found')
  const rows = await readPaymentLink(deps.db, caller, paymentLinkId)
  return toPaymentLink(deps, one(rows, 'payment_link_not_found'))
}

/** Errors: invalid_request, payment_link_not_found. */
export async function changePaymentLink(
  deps: ApiDeps,
  caller: StoreCaller,
  paymentLinkId: string,
  patch: PaymentLinkPatch,
): Promise<PaymentLinkObject> {
  checkId('plink', paymentLinkId, 'payment_link_not_found')
  checkMetadata(patch.metadata)
  const rows = await updatePaymentLink(deps.db, caller, paymentLinkId, patch)
  return toPaymentLink(deps, one(rows, 'payment_link_not_found'))
}

/** Errors: invalid_request, mode_mismatch. */
export async function listPaymentLinks(deps: ApiDeps, caller: StoreCaller, query: CatalogQuery) {
  const list: List<PaymentLinkRow> = {
    read: (stretch) => listPaymentLinkRows(deps.db, caller.storeId, stretch),
    idOf: (row) => row.paymentLinkId,
  }
  return listCatalog('payment-links', caller, query, list, (row) => toPaymentLink(deps, row))
}

async function listCatalog<Row, Item>(
  what: string,
  caller: StoreCaller,
  query: CatalogQuery,
  list: List<Row>,
  view: (row: Row) => Item,
) {
  const modes = modesOf(caller, query.mode)
  const start = readPage(query, { what, storeId: caller.storeId, modes })
  return sliceToPage(start, await readSlice(list, modes, start), view)
}

function checkProduct({ imageUrl, metadata }: ProductBody | ProductPatch): void {
  checkUrl(imageUrl, 'imageUrl')
  checkMetadata(metadata)
}

function checkInterval({ interval, intervalCount = 1 }: PriceBody): void {
  if (interval === undefined) {
    if (intervalCount === 1) return
    fail('invalid_request', {
      message: 'An interval count goes with an interval only.',
      param: 'intervalCount',
    })
  }
  const countMax = INTERVAL_COUNT_MAX[interval]
  if (intervalCount > countMax) {
    fail('invalid_request', {
      message: `A period is at most three years: ${countMax} of ${interval}.`,
      param: 'intervalCount',
    })
  }
}

/** A price must be payable with what it names: every network known here, every token on one of them. */
function checkNetworks(
  deployments: ReadonlyMap<string, Deployment>,
  mode: Mode,
  { networks, tokens = [] }: PriceBody,
): void {
  const known = [...deployments.values()].filter((deployment) => deployment.mode === mode)
  const names = new Set(known.map(({ network }) => network))
  const unknown = (networks ?? []).findIndex((network) => !names.has(network))
  if (unknown >= 0) {
    fail('network_not_accepted', {
      message: 'There is no such network here. See GET /networks.',
      param: `networks.${unknown}`,
    })
  }
  const accepted = known.filter(
    ({ network }) => networks === undefined || networks.includes(network),
  )
  const missing = tokens.findIndex((token) => !accepted.some((one) => one.tokens[token]))
  if (missing >= 0) fail('token_not_accepted', { param: `tokens.${missing}` })
}

function toProduct(row: ProductRow): ProductObject {
  return {
    productId: row.productId,
    mode: row.mode,
    name: row.name,
    ...whenSet('description', row.description),
    ...whenSet('imageUrl', row.imageUrl),
    ...whenSet('metadata', row.metadata),
    active: row.active,
    createdAt: row.createdAt.toISOString(),
  }
}

function toPrice(row: PriceRow): PriceObject {
  return {
    priceId: row.priceId,
    mode: row.mode,
    productId: row.productId,
    amount: centsToDecimal(row.amountCents),
    amountCents: row.amountCents,
    currency: 'usd',
    ...(row.interval === null ? {} : { interval: row.interval, intervalCount: row.intervalCount }),
    ...whenSet('networks', row.networks),
    ...whenSet('tokens', row.tokens),
    active: row.active,
    createdAt: row.createdAt.toISOString(),
  }
}

function toPaymentLink(deps: ApiDeps, row: PaymentLinkRow): PaymentLinkObject {
  return {
    paymentLinkId: row.paymentLinkId,
    mode: row.mode,
    priceId: row.priceId,
    ...whenSet('metadata', row.metadata),
    url: `${deps.config.publicUrl}/l/${row.paymentLinkId}`,
    active: row.active,
    createdAt: row.createdAt.toISOString(),
  }
}

/** The one row, or this error: an unknown id and one of another store or mode look the same. */
function one<Row>(rows: readonly Row[], code: ErrorCode, param?: string): Row {
  const [row] = rows
  assert(rows.length <= 1, 'an id names one row')
  return row ?? fail(code, param === undefined ? {} : { param })
}
