import { Type } from '@sinclair/typebox'
import { READY_TIMEOUT_MS } from '#shared/deadline.ts'
import { fail } from '#shared/errors.ts'
import { METRICS_CONTENT_TYPE } from '#shared/metrics.ts'
import { isBlockedAddress } from '#shared/outbound-address.ts'
import { endpoint } from '../endpoint.ts'
import { NETWORK_STATES, readFaults } from '../networks/service.ts'
import { oneOf } from '../words.ts'

/** The process answers: that is all. */
export const getHealth = endpoint({
  method: 'GET',
  path: '/healthz',
  auth: 'open',
  summary: 'Whether this process answers',
  response: Type.Object({ status: Type.Literal('OK') }),
  needsDatabase: false,
  handle: () => ({ status: 'OK' }),
})

/**
 * Whether the process can do its work: the database answers with the right schema. What is wrong with a network is
 * reported and does not take the API out of rotation, since everything else still works.
 */
export const getReadiness = endpoint({
  method: 'GET',
  path: '/readyz',
  auth: 'open',
  summary: 'Whether this process can do its work, and which networks see nothing',
  response: Type.Object({
    status: oneOf(['OK', 'DEGRADED']),
    networks: Type.Array(Type.Object({ deployment: Type.String(), state: oneOf(NETWORK_STATES) }), {
      description: 'Networks that see nothing: on, or off while payments wait on them',
    }),
  }),
  fails: ['unavailable'],
  deadlineMs: READY_TIMEOUT_MS,
  handle: async (deps) => {
    const networks = await readFaults(deps)
    return { status: networks.length === 0 ? 'OK' : 'DEGRADED', networks }
  },
})

export const getMetrics = endpoint({
  method: 'GET',
  path: '/metrics',
  auth: 'open',
  summary: 'The process’s numbers for Prometheus, for private addresses only',
  media: ['text/plain'],
  fails: ['not_found'],
  needsDatabase: false,
  handle: (deps, { clientIp }) => {
    if (!isBlockedAddress(clientIp())) fail('not_found')
    return new Response(deps.metrics.render(), {
      headers: { 'Content-Type': METRICS_CONTENT_TYPE },
    })
  },
})
