import { assert } from '#shared/assert.ts'
import { fail } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { centsToDecimal } from '#shared/money.ts'
import type { Caller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { checkId, checkMetadata, checkUrl, readMailAddress, whenSet } from '../fields.ts'
import type { SessionBody, SessionObject } from './model.ts'
import {
  closeOpenSession,
  insertSession,
  readIsOwnStore,
  readIsPriceSold,
  readSession,
  type SessionRow,
  type SessionScope,
} from './queries.ts'

/** Contract section 2: a day. */
const EXPIRES_IN_MINUTES_DEFAULT = 1_440

/**
 * Opens a checkout for one buyer, in the caller's store and mode. Errors: invalid_request, store_not_found,
 * price_not_found, price_inactive.
 */
export async function createSession(
  deps: ApiDeps,
  caller: Caller,
  body: SessionBody,
): Promise<SessionObject> {
  const { priceId, amountCents, metadata, successUrl, cancelUrl } = body
  if ((priceId === undefined) === (amountCents === undefined)) {
    fail('invalid_request', {
      message: 'Send exactly one of priceId, amountCents.',
      param: priceId === undefined ? 'priceId' : 'amountCents',
    })
  }
  checkMetadata(metadata)
  checkUrl(successUrl, 'successUrl')
  checkUrl(cancelUrl, 'cancelUrl')
  const buyerEmail = readMailAddress(body.buyerEmail, 'buyerEmail') ?? null
  const storeId = await resolveStore(deps, caller, body.storeId)
  if (priceId !== undefined) await checkPrice(deps, { storeId, mode: caller.mode }, priceId)

  const sessionId = newId('cs')
  await insertSession(deps.db, {
    ...{ sessionId, storeId, buyerEmail },
    mode: caller.mode,
    priceId: priceId ?? null,
    amountCents: amountCents ?? null,
    metadata: metadata ?? null,
    successUrl: successUrl ?? null,
    cancelUrl: cancelUrl ?? null,
    expiresInMinutes: body.expiresInMinutes ?? EXPIRES_IN_MINUTES_DEFAULT,
  })
  return showSession(deps, caller, sessionId)
}

/** Error: session_not_found. */
export async function showSession(
  deps: ApiDeps,
  caller: Caller,
  sessionId: string,
): Promise<SessionObject> {
  return toSession(deps, await findSession(deps, scopeOf(caller), sessionId))
}

/** Closes an open session; one that is completed, closed or expired is answered as it is. Error: session_not_found. */
export async function closeSession(
  deps: ApiDeps,
  caller: Caller,
  sessionId: string,
): Promise<SessionObject> {
  const scope = { ...scopeOf(caller), modes: [caller.mode] }
  const { storeId, mode } = await findSession(deps, scope, sessionId)
  await closeOpenSession(deps.db, { storeId, mode }, sessionId)
  return toSession(deps, await findSession(deps, scope, sessionId))
}

/** A key's own store; with a login token, the one the body names. */
async function resolveStore(
  deps: ApiDeps,
  caller: Caller,
  named: string | undefined,
): Promise<string> {
  if (caller.storeId !== undefined) {
    if (named !== undefined && named !== caller.storeId) failStore()
    return caller.storeId
  }
  if (named === undefined) {
    fail('invalid_request', {
      message: 'A login reaches several stores: say which one.',
      param: 'storeId',
    })
  }
  return (await readIsOwnStore(deps.db, caller.accountId, named)) ? named : failStore()
}

async function checkPrice(
  deps: ApiDeps,
  scope: Parameters<typeof readIsPriceSold>[1],
  priceId: string,
): Promise<void> {
  const isSold = await readIsPriceSold(deps.db, scope, priceId)
  if (isSold === undefined) fail('price_not_found', { param: 'priceId' })
  if (!isSold) fail('price_inactive', { param: 'priceId' })
}

async function findSession(
  deps: ApiDeps,
  scope: SessionScope,
  sessionId: string,
): Promise<SessionRow> {
  checkId('cs', sessionId, 'session_not_found')
  return (await readSession(deps.db, scope, sessionId)) ?? fail('session_not_found')
}

function scopeOf({ accountId, storeId, modes }: Caller): SessionScope {
  return { accountId, storeId, modes }
}

function failStore(): never {
  return fail('store_not_found', { param: 'storeId' })
}

function toSession(deps: ApiDeps, row: SessionRow): SessionObject {
  assert(row.amountCents !== null, 'a session has an amount or a price')
  return {
    sessionId: row.sessionId,
    storeId: row.storeId,
    mode: row.mode,
    status: row.status,
    url: `${deps.config.publicUrl}/c/${row.sessionId}`,
    ...whenSet('priceId', row.priceId),
    amount: centsToDecimal(row.amountCents),
    amountCents: row.amountCents,
    currency: 'usd',
    ...whenSet('paymentId', row.paymentId),
    ...whenSet('metadata', row.metadata),
    ...whenSet('buyerEmail', row.buyerEmail),
    ...whenSet('successUrl', row.successUrl),
    ...whenSet('cancelUrl', row.cancelUrl),
    expiresAt: row.expiresAt.toISOString(),
    createdAt: row.createdAt.toISOString(),
  }
}
