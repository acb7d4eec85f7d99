import { decrypt, encrypt, sha256 } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { type ErrorCode, fail, ServiceError } from '#shared/errors.ts'
import { newOrderKey } from '#shared/ids.ts'
import type { Caller } from './auth.ts'
import type { ApiDeps } from './deps.ts'

/** A seller's POST with an `Idempotency-Key` (contract section 1). */
export type RepeatableRequest = {
  caller: Caller
  /** The header as it came. */
  key: string
  /** Method, path with query, and body as JSON: what must be the same the next time. */
  asked: string
  /** Headers of the answer. */
  headers: Record<string, string>
}

/** What is kept of an answer: a success's body, or an error. */
type Kept = { body?: unknown; error?: { code: ErrorCode; message: string; param?: string } }

const KEY = /^[!-~]{1,255}$/
/** Hours an answer is given again. */
const KEPT_HOURS = 24
/** Seconds after which a request without an answer is taken for dead: over the deadline of every request. */
const CLAIM_SECONDS = 15
/** Milliseconds between two looks for the answer of the same request that is still running, and how many there are. */
const POLL_MS = 50
const POLLS_MAX = 140
/** Seconds to come back after when it takes longer. */
const RETRY_S = 2
/** Rows past their time that are removed along the way, per new row: more than come in. */
const PURGED_MAX = 10

/**
 * Runs a request once, however often it is sent within {@link KEPT_HOURS}, and answers the same each time. Of several
 * at once one runs and the others wait for its answer. A 5xx and a 429 are not kept: they ask to be tried again.
 * Errors: invalid_request, idempotency_mismatch, unavailable, and whatever `run` throws.
 */
export async function runOnce(
  deps: ApiDeps,
  request: RepeatableRequest,
  run: () => unknown,
): Promise<unknown> {
  const name = nameOf(request)
  const nameHash = sha256(name)
  const requestHash = sha256(request.asked)
  const claimId = newOrderKey()
  for (let poll = 0; poll < POLLS_MAX; poll += 1) {
    if (await claim(deps.db, nameHash, requestHash, claimId)) {
      return runAndKeep(deps, { name, nameHash, claimId }, run)
    }
    const found = await readRequest(deps.db, nameHash)
    if (found !== undefined && !isSame(found.requestHash, requestHash)) fail('idempotency_mismatch')
    if (found?.answer) return replay(deps, request, name, found.answer)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return fail('unavailable', { retryAfterSeconds: RETRY_S })
}

/** A login reaches all stores of its account, so that it is known by the account; a key belongs to one store. */
function nameOf({ caller, key }: RepeatableRequest): string {
  if (!KEY.test(key)) {
    fail('invalid_request', {
      message: 'This should be 1 to 255 visible ASCII characters.',
      param: 'Idempotency-Key',
    })
  }
  const { kind, accountId, storeId, mode } = caller
  return [kind === 'LOGIN' ? accountId : storeId, mode, key].join(' ')
}

async function runAndKeep(
  deps: ApiDeps,
  claimed: { name: string; nameHash: Uint8Array; claimId: string },
  run: () => unknown,
): Promise<unknown> {
  const keep = async (kept: Kept) => {
    const sealed = encrypt(deps.keyring, JSON.stringify(kept), contextOf(claimed.name))
    await keepAnswer(deps.db, claimed, sealed)
  }
  try {
    const body = await run()
    await keep({ body })
    return body
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500 && error.status !== 429) {
      const { code, message, details } = error
      const { param } = details
      await keep({ error: { code, message, ...(param === undefined ? {} : { param }) } })
    } else {
      await release(deps.db, claimed)
    }
    throw error
  }
}

function replay(
  deps: ApiDeps,
  { headers }: RepeatableRequest,
  name: string,
  sealed: Uint8Array,
): unknown {
  const kept: Kept = JSON.parse(decrypt(deps.keyring, sealed, contextOf(name)))
  headers['Idempotent-Replayed'] = 'true'
  if (kept.error === undefined) return kept.body
  const { code, ...details } = kept.error
  return fail(code, details)
}

function contextOf(name: string): string {
  return `answer to ${name}`
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}

/** Takes the name for this request when nobody has it, when its time is over, or when its holder is taken for dead. */
async function claim(
  db: Db,
  nameHash: Uint8Array,
  requestHash: Uint8Array,
  claimId: string,
): Promise<boolean> {
  const rows = await db`
    with purged as (
      delete from idempotent_requests
      where name_hash in (
        select name_hash from idempotent_requests
        where created_at <= service_now() - make_interval(hours => ${KEPT_HOURS}) and name_hash <> ${nameHash}
        order by created_at
        limit ${PURGED_MAX}
        for update skip locked
      )
    )
    insert into idempotent_requests as r (name_hash, request_hash, claim_id, claimed_until)
    values (${nameHash}, ${requestHash}, ${claimId}, service_now() + make_interval(secs => ${CLAIM_SECONDS}))
    on conflict (name_hash) do update set
      request_hash = excluded.request_hash, claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
      answer = null, created_at = service_now()
    where r.created_at <= service_now() - make_interval(hours => ${KEPT_HOURS})
      or (r.answer is null and r.claimed_until <= service_now() and r.request_hash = excluded.request_hash)
    returning claim_id`
  return rows.length > 0
}

async function readRequest(
  db: Db,
  nameHash: Uint8Array,
): Promise<{ requestHash: Uint8Array; answer: Uint8Array | null } | undefined> {
  const rows = await db<{ requestHash: Uint8Array; answer: Uint8Array | null }[]>`
    select request_hash, answer from idempotent_requests where name_hash = ${nameHash}`
  return rows[0]
}

async function keepAnswer(
  db: Db,
  { nameHash, claimId }: { nameHash: Uint8Array; claimId: string },
  answer: Uint8Array,
): Promise<void> {
  await db`
    update idempotent_requests set answer = ${answer}
    where name_hash = ${nameHash} and claim_id = ${claimId}`
}

async function release(
  db: Db,
  { nameHash, claimId }: { nameHash: Uint8Array; claimId: string },
): Promise<void> {
  await db`
    delete from idempotent_requests
    where name_hash = ${nameHash} and claim_id = ${claimId} and answer is null`
}
