import type { Endpoint } from './endpoint.ts'
import { getHealth, getMetrics, getReadiness } from './health/routes.ts'
import { listNetworks } from './networks/routes.ts'
import { getPayment } from './payments/routes.ts'

/** Every endpoint of the API. A new one is written in its feature's folder and named here. */
export const ENDPOINTS: readonly Endpoint[] = [
  getPayment,
  listNetworks,
  getHealth,
  getReadiness,
  getMetrics,
]
