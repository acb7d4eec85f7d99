import { Type } from '@sinclair/typebox'
import { KEY_KINDS } from '#shared/accounts/stores.ts'
import { endpoint } from '../endpoint.ts'
import { PAGE_QUERY, pageSchema } from '../pagination.ts'
import { KeyObject } from '../store-object.ts'
import { ModeWord, oneOf } from '../words.ts'
import { endKey, mintKey, showKeys } from './service.ts'

const KeysQuery = Type.Object(
  { ...PAGE_QUERY, mode: Type.Optional(ModeWord) },
  { additionalProperties: false },
)
const PostKeyBody = Type.Object({ kind: oneOf(KEY_KINDS) }, { additionalProperties: false })

export const getKeys = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/keys',
  auth: 'store',
  summary: 'List the keys that work: publishable ones in full, secret ones masked',
  schemas: { query: KeysQuery },
  response: pageSchema(KeyObject),
  handle: (deps, { caller, query }) => showKeys(deps, caller, query),
})

export const postKeys = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/keys',
  auth: 'store',
  summary: 'Mint a key of the caller’s mode; a secret one is shown this once',
  status: 201,
  schemas: { body: PostKeyBody },
  response: KeyObject,
  handle: (deps, { caller, body }) => mintKey(deps, caller, body.kind),
})

export const deleteKey = endpoint({
  method: 'DELETE',
  path: '/v1/stores/:storeId/keys/:keyId',
  auth: 'store',
  summary: 'Revoke a key, at once',
  status: 204,
  fails: ['key_not_found'],
  handle: (deps, { caller, params }) => endKey(deps, caller, params.keyId),
})
