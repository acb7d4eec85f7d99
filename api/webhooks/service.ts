import { maskKey, newSecret } from '#shared/crypto.ts'
import { type Tx, withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { type EventDraft, eventBody, insertEvent } from '#shared/events.ts'
import { newId } from '#shared/ids.ts'
import { checkWebhookUrl, hostOf } from '#shared/outbound-address.ts'
import { resolveOutbound } from '#shared/outbound-resolve.ts'
import { announceEvents } from '#shared/wake.ts'
import {
  openWebhookSecret,
  SIGNING_SECRET_COUNT_MAX,
  sealWebhookSecret,
} from '#shared/webhook-secret.ts'
import type { StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { guardLiveStore } from '../live-guard.ts'
import {
  beginOverlap,
  deleteSecrets,
  insertSecret,
  lockWebhook,
  readActiveSecrets,
  readWebhookUrl,
  setWebhookUrl,
} from './queries.ts'

/** Contract section 2. */
const OVERLAP_HOURS = 24

/** The URL, null when there is none, and the masked secrets that sign. */
export async function showWebhook(deps: ApiDeps, { storeId }: StoreCaller) {
  const url = await readWebhookUrl(deps.db, storeId)
  const rows =
    url === null ? [] : await readActiveSecrets(deps.db, storeId, SIGNING_SECRET_COUNT_MAX)
  return {
    storeId,
    url,
    secrets: rows.map((row) => ({
      secret: maskKey(openWebhookSecret(deps.keyring, storeId, row.ciphertext)),
      createdAt: row.createdAt.toISOString(),
      expiresAt: row.expiresAt?.toISOString() ?? null,
    })),
  }
}

/**
 * Sets the URL; what is pending goes there from now on. A store that had none gets a secret, shown this once.
 * Errors: invalid_request, mode_mismatch.
 */
export async function putWebhook(deps: ApiDeps, caller: StoreCaller, text: string) {
  const { storeId } = caller
  await guardLiveStore(deps.db, caller)
  const url = await readUrl(deps, text)
  const secret = await withTransaction(deps.db, async (tx) => {
    const previous = await lockWebhook(tx, storeId)
    await setWebhookUrl(tx, storeId, url)
    if (previous !== null) {
      const [active] = await readActiveSecrets(tx, storeId, 1)
      if (active !== undefined) return undefined
    }
    await deleteSecrets(tx, storeId)
    return addSecret(deps, tx, storeId)
  })
  rouseRelay(deps)
  return { ...(await showWebhook(deps, caller)), ...(secret === undefined ? {} : { secret }) }
}

/** Removes URL and secrets. What is pending is parked until there is a URL again or its window ends. */
export async function dropWebhook(deps: ApiDeps, caller: StoreCaller): Promise<void> {
  await guardLiveStore(deps.db, caller)
  await withTransaction(deps.db, async (tx) => {
    await lockWebhook(tx, caller.storeId)
    await setWebhookUrl(tx, caller.storeId, null)
    await deleteSecrets(tx, caller.storeId)
  })
}

/**
 * Makes a new secret, shown this once; the one in use signs beside it for the overlap, an older one no longer.
 * Errors: invalid_request (no webhook), mode_mismatch.
 */
export async function rotateSecret(deps: ApiDeps, caller: StoreCaller, overlapHours?: number) {
  const { storeId } = caller
  await guardLiveStore(deps.db, caller)
  const secret = await withTransaction(deps.db, async (tx) => {
    requireUrl(await lockWebhook(tx, storeId))
    await beginOverlap(tx, storeId, overlapHours ?? OVERLAP_HOURS)
    return addSecret(deps, tx, storeId)
  })
  return { ...(await showWebhook(deps, caller)), secret }
}

/** Emits `webhook.test` in the caller's mode. Answers its envelope. Error: invalid_request (no webhook). */
export async function sendTest(deps: ApiDeps, { storeId, accountId, mode }: StoreCaller) {
  requireUrl(await readWebhookUrl(deps.db, storeId))
  const type = 'webhook.test'
  const eventId = `${newId('evt')}:${type}`
  const draft = await withTransaction(deps.db, async (tx): Promise<EventDraft> => {
    const [{ now }] = await tx<[{ now: Date }]>`select service_now() as now`
    const data = { storeId, accountId, mode }
    const event = { eventId, type, storeId, accountId, mode, createdAt: now, data } as const
    await insertEvent(tx, event)
    return event
  })
  rouseRelay(deps)
  return JSON.parse(eventBody(draft)) as Record<string, unknown>
}

/** Error: invalid_request. */
export function requireUrl(url: string | null): string {
  return (
    url ??
    fail('invalid_request', { message: 'The store has no webhook. Set its URL with PUT first.' })
  )
}

/** Wakes the relay without making the caller wait; should it fail, the relay finds the rows at its next poll. */
export function rouseRelay(deps: ApiDeps): void {
  announceEvents(deps.db).catch((error: unknown) => {
    deps.log.debug('a wake-up was not sent', { cause: error })
  })
}

/**
 * The URL in its normal form. A name that does not resolve yet is taken: every attempt checks the address it connects
 * to. Error: invalid_request.
 */
async function readUrl(deps: ApiDeps, text: string): Promise<string> {
  const allowPrivate = deps.config.webhookAllowPrivate
  const checked = checkWebhookUrl(text, { allowPrivate })
  if (!checked.ok) fail('invalid_request', { message: `The URL ${checked.reason}.`, param: 'url' })
  // There is nothing to refuse then, and a slow resolver would only delay the answer.
  if (allowPrivate) return checked.url
  const resolved = await resolveOutbound(hostOf(new URL(checked.url)), { allowPrivate })
  if (!resolved.ok && resolved.error === 'blocked_address') {
    fail('invalid_request', {
      message: 'The URL must not point to a private, loopback, link-local or metadata address.',
      param: 'url',
    })
  }
  return checked.url
}

async function addSecret(deps: ApiDeps, tx: Tx, storeId: string): Promise<string> {
  const secret = newSecret('whsec')
  const ciphertext = sealWebhookSecret(deps.keyring, storeId, secret)
  await insertSecret(tx, { webhookSecretId: newId('whs'), storeId, ciphertext })
  return secret
}
