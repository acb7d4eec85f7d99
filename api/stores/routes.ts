import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { StoreObject, StoreWithKeys } from '../store-object.ts'
import { PatchStoreBody, PostStoreBody, StoresQuery } from './model.ts'
import { changeStore, openStore, showStore, showStores } from './service.ts'

export const getStores = endpoint({
  method: 'GET',
  path: '/v1/stores',
  auth: 'seller',
  summary: 'List the stores that the key or login reaches',
  schemas: { query: StoresQuery },
  response: pageSchema(StoreObject),
  handle: (deps, { caller, query }) => showStores(deps, caller, query),
})

export const postStores = endpoint({
  method: 'POST',
  path: '/v1/stores',
  auth: 'seller',
  summary: 'Open another store, with four keys, shown this once',
  status: 201,
  schemas: { body: PostStoreBody },
  response: StoreWithKeys,
  fails: ['mode_mismatch'],
  handle: (deps, { caller, body }) => openStore(deps, caller, body.name),
})

export const getStore = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId',
  auth: 'store',
  summary: 'Read a store',
  response: StoreObject,
  handle: (deps, { caller }) => showStore(deps, caller),
})

export const patchStore = endpoint({
  method: 'PATCH',
  path: '/v1/stores/:storeId',
  auth: 'store',
  summary: 'Change a store’s name, branding and settings',
  schemas: { body: PatchStoreBody },
  response: StoreObject,
  fails: ['mode_mismatch'],
  handle: (deps, { caller, body }) => changeStore(deps, caller, body),
})
