import { Type } from '@sinclair/typebox'
import { endpoint } from '../endpoint.ts'
import { PAGE_QUERY, pageSchema } from '../pagination.ts'
import { oneOf, Time, TimeOrNull } from '../words.ts'
import { ORIGIN_STATUSES } from './queries.ts'
import { ruleOnOrigin, showOrigins } from './service.ts'

const OriginStatusWord = oneOf(ORIGIN_STATUSES)
const OriginsQuery = Type.Object(
  { ...PAGE_QUERY, status: Type.Optional(OriginStatusWord) },
  { additionalProperties: false },
)
const PutOriginBody = Type.Object({ status: OriginStatusWord }, { additionalProperties: false })

export const OriginObject = Type.Object({
  host: Type.String({ description: 'Lower case, punycode, without port' }),
  status: OriginStatusWord,
  firstConfirmedAt: TimeOrNull,
  createdAt: Time,
})

export const getOrigins = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/origins',
  auth: 'store',
  summary: 'List the hosts that confirmed live payments came from, and those ruled on',
  schemas: { query: OriginsQuery },
  response: pageSchema(OriginObject),
  handle: (deps, { caller, query }) => showOrigins(deps, caller, query),
})

export const putOrigin = endpoint({
  method: 'PUT',
  path: '/v1/stores/:storeId/origins/:host',
  auth: 'store',
  summary: 'Rule on a host; a rejected host rejects its sub-domains too',
  schemas: { body: PutOriginBody },
  response: OriginObject,
  fails: ['mode_mismatch', 'origin_not_found'],
  handle: (deps, { caller, params, body }) => ruleOnOrigin(deps, caller, params.host, body.status),
})
