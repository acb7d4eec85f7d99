import { postCheckout, postCheckoutInfo } from './checkout/routes.ts'
import type { Endpoint } from './endpoint.ts'
import { getHealth, getMetrics, getReadiness } from './health/routes.ts'
import { listNetworks } from './networks/routes.ts'
import { cancelPayment, getPayment, getPaymentStream, simulatePayment } from './payments/routes.ts'

/** Every endpoint of the API. A new one is written in its feature's folder and named here. */
export const ENDPOINTS: readonly Endpoint[] = [
  postCheckoutInfo,
  postCheckout,
  getPayment,
  cancelPayment,
  simulatePayment,
  getPaymentStream,
  listNetworks,
  getHealth,
  getReadiness,
  getMetrics,
]
