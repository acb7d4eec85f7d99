import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import {
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
import * as catalog from './service.ts'

export const postProduct = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/products',
  auth: 'store',
  summary: 'Create a product',
  status: 201,
  schemas: { body: ProductBody },
  response: ProductObject,
  handle: (deps, { caller, body }) => catalog.createProduct(deps, caller, body),
})

export const listProducts = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/products',
  auth: 'store',
  summary: 'List products, newest first',
  schemas: { query: CatalogQuery },
  response: pageSchema(ProductObject),
  handle: (deps, { caller, query }) => catalog.listProducts(deps, caller, query),
})

export const getProduct = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/products/:productId',
  auth: 'store',
  summary: 'Read a product',
  response: ProductObject,
  fails: ['product_not_found'],
  handle: (deps, { caller, params }) => catalog.showProduct(deps, caller, params.productId),
})

export const patchProduct = endpoint({
  method: 'PATCH',
  path: '/v1/stores/:storeId/products/:productId',
  auth: 'store',
  summary:
    'Change a product; null empties a field, active false archives it: its prices take no new checkouts',
  schemas: { body: ProductPatch },
  response: ProductObject,
  fails: ['product_not_found'],
  handle: (deps, { caller, params, body }) =>
    catalog.changeProduct(deps, caller, params.productId, body),
})

export const postPrice = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/prices',
  auth: 'store',
  summary: 'Create a price of a product; with an interval it is recurring',
  status: 201,
  schemas: { body: PriceBody },
  response: PriceObject,
  fails: ['product_not_found', 'network_not_accepted', 'token_not_accepted'],
  handle: (deps, { caller, body }) => catalog.createPrice(deps, caller, body),
})

export const listPrices = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/prices',
  auth: 'store',
  summary: 'List prices, newest first',
  schemas: { query: CatalogQuery },
  response: pageSchema(PriceObject),
  handle: (deps, { caller, query }) => catalog.listPrices(deps, caller, query),
})

export const getPrice = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/prices/:priceId',
  auth: 'store',
  summary: 'Read a price',
  response: PriceObject,
  fails: ['price_not_found'],
  handle: (deps, { caller, params }) => catalog.showPrice(deps, caller, params.priceId),
})

export const patchPrice = endpoint({
  method: 'PATCH',
  path: '/v1/stores/:storeId/prices/:priceId',
  auth: 'store',
  summary: 'Archive a price, or bring it back; what it asks for never changes',
  schemas: { body: PricePatch },
  response: PriceObject,
  fails: ['price_not_found'],
  handle: (deps, { caller, params, body }) =>
    catalog.changePrice(deps, caller, params.priceId, body),
})

export const postPaymentLink = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/payment-links',
  auth: 'store',
  summary: 'Create a reusable link to a hosted page that sells a price',
  status: 201,
  schemas: { body: PaymentLinkBody },
  response: PaymentLinkObject,
  fails: ['price_not_found', 'price_inactive'],
  handle: (deps, { caller, body }) => catalog.createPaymentLink(deps, caller, body),
})

export const listPaymentLinks = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/payment-links',
  auth: 'store',
  summary: 'List payment links, newest first',
  schemas: { query: CatalogQuery },
  response: pageSchema(PaymentLinkObject),
  handle: (deps, { caller, query }) => catalog.listPaymentLinks(deps, caller, query),
})

export const getPaymentLink = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/payment-links/:paymentLinkId',
  auth: 'store',
  summary: 'Read a payment link',
  response: PaymentLinkObject,
  fails: ['payment_link_not_found'],
  handle: (deps, { caller, params }) => catalog.showPaymentLink(deps, caller, params.paymentLinkId),
})

export const patchPaymentLink = endpoint({
  method: 'PATCH',
  path: '/v1/stores/:storeId/payment-links/:paymentLinkId',
  auth: 'store',
  summary: 'Change a payment link; active false archives it',
  schemas: { body: PaymentLinkPatch },
  response: PaymentLinkObject,
  fails: ['payment_link_not_found'],
  handle: (deps, { caller, params, body }) =>
    catalog.changePaymentLink(deps, caller, params.paymentLinkId, body),
})
