import { hashSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { MODES } from '#shared/networks/names.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Json } from './strict-json.ts'

/**
 * Who may call an endpoint (spec section 5):
 * - `open`: anybody.
 * - `publishable`: whoever has a publishable key, which stands in the body; the checkout resolves it in its one query.
 * - `capability`: whoever knows the unguessable id or token in the path.
 * - `seller`: a secret key, or a login token.
 * - `store`: the same, for the store in the path (`:storeId`), which must be the key's or the account's.
 */
export type AuthStyle = 'open' | 'publishable' | 'capability' | 'seller' | 'store'

/** Who is calling with a secret key or a login token. */
export type Caller = {
  kind: 'KEY' | 'LOGIN'
  accountId: string
  /** A key belongs to one store; a login token reaches every store of its account. */
  storeId: string | undefined
  /** What the caller makes and changes. */
  mode: Mode
  /** What the caller lists and reads: a live caller both, a test caller test data only. */
  modes: readonly Mode[]
}

/** A caller with the store that the path names and that is the caller's. */
export type StoreCaller = Caller & { storeId: string }

/** What a handler is given, by its endpoint's style. */
export type AuthContext = {
  open: unknown
  publishable: unknown
  capability: unknown
  seller: { caller: Caller }
  store: { caller: StoreCaller }
}

// The scheme in any case (RFC 9110, 11.1).
const KEY = /^[Bb][Ee][Aa][Rr][Ee][Rr] (sk_(test|live)_[0-9A-Za-z_-]{16,100})$/
const LOGIN = /^[Bb][Ee][Aa][Rr][Ee][Rr] (sess_[0-9A-Za-z_-]{16,100})$/
const MODE_HEADER = 'X-Service-Mode'

type Found = { accountId: string; storeId: string | null; status: string; hasStore: boolean }

/**
 * Resolves the caller of an endpoint of style `seller`, or `store` when `storeId` is given.
 * Errors: invalid_api_key, account_disabled, mode_mismatch, store_not_found, invalid_request (the mode header).
 */
export async function authenticate(
  db: Db,
  request: Request,
  query: string,
  storeId: string | undefined,
): Promise<Caller> {
  const authorization = request.headers.get('authorization') ?? ''
  const [, key, keyMode] = KEY.exec(authorization) ?? []
  const token = key ?? LOGIN.exec(authorization)?.[1]
  if (token === undefined) fail('invalid_api_key')
  const hash = hashSecret(token)
  const wantedStore = storeId !== undefined && isId('store', storeId) ? storeId : ''
  const found = key === undefined ? await findLogin(db, hash, wantedStore) : await findKey(db, hash)
  if (found === undefined) fail('invalid_api_key')

  const named = readModeHeader(request)
  const mode = MODES.find((word) => word === keyMode) ?? named ?? 'test'
  if (named !== undefined) refuseOtherMode(mode, named)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  refuseUnreachableMode(mode, query, isRead)
  if (mode === 'live' && found.status !== 'ACTIVE' && !isRead) fail('account_disabled')
  const isOwn = key === undefined ? found.hasStore : found.storeId === wantedStore
  if (storeId !== undefined && !isOwn) fail('store_not_found')
  return {
    kind: key === undefined ? 'LOGIN' : 'KEY',
    accountId: found.accountId,
    storeId: storeId ?? found.storeId ?? undefined,
    mode,
    modes: mode === 'live' ? ['live', 'test'] : ['test'],
  }
}

/** The modes a list shows: the caller's, or the one that `?mode=` picks of them. Error: mode_mismatch. */
export function modesOf(caller: Caller, mode: Mode | undefined): readonly Mode[] {
  if (mode === undefined) return caller.modes
  return caller.modes.includes(mode) ? [mode] : fail('mode_mismatch')
}

/**
 * A body may name the mode it is meant for: it must be the caller's, and is then taken out, since no object's schema
 * has it. Errors: mode_mismatch, invalid_request.
 */
export function takeBodyMode(caller: Caller, body: Json | undefined): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const { mode } = body
  if (mode === undefined) return
  const named = MODES.find((word) => word === mode)
  if (named === undefined) {
    fail('invalid_request', { message: 'This should be one of test, live.', param: 'mode' })
  }
  refuseOtherMode(caller.mode, named)
  delete body['mode']
}

function readModeHeader(request: Request): Mode | undefined {
  const text = request.headers.get(MODE_HEADER)
  if (text === null) return undefined
  const mode = MODES.find((word) => word === text.trim().toLowerCase())
  return (
    mode ??
    fail('invalid_request', {
      message: 'Send test or live, or no such header.',
      param: MODE_HEADER,
    })
  )
}

function refuseOtherMode(mode: Mode, named: Mode): void {
  if (mode !== named) fail('mode_mismatch')
}

/**
 * A test caller who names live is told so, whatever else the endpoint makes of its query; so is a live caller who would
 * change test data. Reading both is theirs.
 */
function refuseUnreachableMode(mode: Mode, query: string, isRead: boolean): void {
  if (query === '' || (mode === 'live' && isRead)) return
  const other: Mode = mode === 'test' ? 'live' : 'test'
  if (new URLSearchParams(query).getAll('mode').includes(other)) fail('mode_mismatch')
}

async function findKey(db: Db, hash: Uint8Array): Promise<Found | undefined> {
  const rows = await db<Found[]>`
    select s.account_id, k.store_id, a.status, true as has_store
    from keys k
    join stores s on s.store_id = k.store_id
    join accounts a on a.account_id = s.account_id
    where k.key_hash = ${hash} and k.kind = 'SECRET' and k.revoked_at is null`
  return rows[0]
}

async function findLogin(db: Db, hash: Uint8Array, storeId: string): Promise<Found | undefined> {
  const rows = await db<Found[]>`
    select a.account_id, null as store_id, a.status,
      exists (
        select from stores s where s.store_id = ${storeId} and s.account_id = a.account_id
      ) as has_store
    from login_sessions l
    join accounts a on a.account_id = l.account_id
    where l.token_hash = ${hash} and l.expires_at > service_now()`
  return rows[0]
}
