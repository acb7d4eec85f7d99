import {
  getAccount,
  patchAccount,
  postAccounts,
  postLogin,
  postLogout,
  postPasswordForgot,
  postPasswordReset,
  postVerifyEmail,
  postVerifyEmailResend,
} from './accounts/routes.ts'
import {
  getPaymentLink,
  getPrice,
  getProduct,
  listPaymentLinks,
  listPrices,
  listProducts,
  patchPaymentLink,
  patchPrice,
  patchProduct,
  postPaymentLink,
  postPrice,
  postProduct,
} from './catalog/routes.ts'
import { getRenewal, postRenewalCancel, postRenewalCheckout } from './checkout/renewal-routes.ts'
import { postCheckout, postCheckoutInfo } from './checkout/routes.ts'
import type { Endpoint } from './endpoint.ts'
import { getEvents } from './events/routes.ts'
import { getHealth, getMetrics, getReadiness } from './health/routes.ts'
import { deleteKey, getKeys, postKeys } from './keys/routes.ts'
import { listNetworks } from './networks/routes.ts'
import { referenceEndpoints } from './openapi/routes.ts'
import { getOrigins, putOrigin } from './origins/routes.ts'
import { cancelPayment, getPayment, getPaymentStream, simulatePayment } from './payments/routes.ts'
import { getSession, postSession, postSessionClose } from './sessions/routes.ts'
import { getPaymentTrace, getStorePayment, listStorePayments } from './store-payments/routes.ts'
import { getStore, getStores, patchStore, postStores } from './stores/routes.ts'
import {
  getSubscription,
  listSubscriptions,
  postSubscriptionAdvance,
  postSubscriptionCancel,
} from './subscriptions/routes.ts'
import { listTransfers, postTransferAttach, postTransferResolve } from './transfers/routes.ts'
import { deleteWallet, getWallets, postWallets } from './wallets/routes.ts'
import {
  deleteWebhook,
  getDeliveries,
  getDelivery,
  getWebhook,
  postDeliveryResend,
  postWebhookReplay,
  postWebhookRotate,
  postWebhookTest,
  putWebhookUrl,
} from './webhooks/routes.ts'

/** A new endpoint is written in its feature's folder and named here. */
const FEATURES: readonly Endpoint[] = [
  postCheckoutInfo,
  postCheckout,
  getPayment,
  cancelPayment,
  simulatePayment,
  getPaymentStream,
  postAccounts,
  postVerifyEmail,
  postVerifyEmailResend,
  postLogin,
  postLogout,
  postPasswordForgot,
  postPasswordReset,
  getAccount,
  patchAccount,
  getStores,
  postStores,
  getStore,
  patchStore,
  getKeys,
  postKeys,
  deleteKey,
  getWallets,
  postWallets,
  deleteWallet,
  getOrigins,
  putOrigin,
  getWebhook,
  putWebhookUrl,
  deleteWebhook,
  postWebhookRotate,
  postWebhookTest,
  postWebhookReplay,
  getDeliveries,
  getDelivery,
  postDeliveryResend,
  getEvents,
  postProduct,
  listProducts,
  getProduct,
  patchProduct,
  postPrice,
  listPrices,
  getPrice,
  patchPrice,
  postPaymentLink,
  listPaymentLinks,
  getPaymentLink,
  patchPaymentLink,
  postSession,
  getSession,
  postSessionClose,
  listStorePayments,
  getStorePayment,
  getPaymentTrace,
  listTransfers,
  postTransferAttach,
  postTransferResolve,
  listSubscriptions,
  getSubscription,
  postSubscriptionCancel,
  postSubscriptionAdvance,
  getRenewal,
  postRenewalCheckout,
  postRenewalCancel,
  listNetworks,
  getHealth,
  getReadiness,
  getMetrics,
]

/** Every endpoint of the API. */
export const ENDPOINTS: readonly Endpoint[] = [...FEATURES, ...referenceEndpoints(FEATURES)]
