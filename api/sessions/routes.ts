import { endpoint } from '../endpoint.ts'
import { SessionBody, SessionObject } from './model.ts'
import { closeSession, createSession, showSession } from './service.ts'

export const postSession = endpoint({
  method: 'POST',
  path: '/v1/checkout/sessions',
  auth: 'seller',
  summary: 'Open a checkout session for one buyer; with a login token, storeId says in which store',
  status: 201,
  schemas: { body: SessionBody },
  response: SessionObject,
  fails: ['store_not_found', 'price_not_found', 'price_inactive'],
  handle: (deps, { caller, body }) => createSession(deps, caller, body),
})

export const getSession = endpoint({
  method: 'GET',
  path: '/v1/checkout/sessions/:sessionId',
  auth: 'seller',
  summary: 'Read a checkout session',
  response: SessionObject,
  fails: ['session_not_found'],
  handle: (deps, { caller, params }) => showSession(deps, caller, params.sessionId),
})

export const postSessionClose = endpoint({
  method: 'POST',
  path: '/v1/checkout/sessions/:sessionId/close',
  auth: 'seller',
  summary: 'Close an open checkout session; any other is answered as it is',
  response: SessionObject,
  fails: ['session_not_found'],
  handle: (deps, { caller, params }) => closeSession(deps, caller, params.sessionId),
})
