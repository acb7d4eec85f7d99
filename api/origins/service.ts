import { fail } from '#shared/errors.ts'
import { parseHost } from '#shared/origin-host.ts'
import type { StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { guardLiveStore } from '../live-guard.ts'
import { readPage, toPage } from '../pagination.ts'
import { LAST_ID } from '../words.ts'
import { listOrigins, type OriginRow, type OriginStatus, putOriginStatus } from './queries.ts'

/** Cursors hold ids; an origin's key is made to look like one. */
const CURSOR_PREFIX = 'origin_'

export async function showOrigins(
  deps: ApiDeps,
  { storeId }: StoreCaller,
  query: { limit?: number; cursor?: string; status?: OriginStatus },
) {
  const { status } = query
  const page = readPage(query, { list: 'origins', storeId, status })
  const before = page.before?.slice(CURSOR_PREFIX.length) ?? LAST_ID
  const rows = await listOrigins(deps.db, storeId, status, before, page.limit + 1)
  return toPage(page, rows, (row) => `${CURSOR_PREFIX}${row.originKey}`, originView)
}

/** Errors: origin_not_found, when the path names no host; mode_mismatch. */
export async function ruleOnOrigin(
  deps: ApiDeps,
  caller: StoreCaller,
  hostText: string,
  status: OriginStatus,
) {
  const host = parseHost(hostText)
  if (host === undefined) {
    fail('origin_not_found', {
      message: 'This is no host. Send a name such as shop.example, without scheme and port.',
    })
  }
  await guardLiveStore(deps.db, caller)
  return originView(await putOriginStatus(deps.db, caller.storeId, host, status))
}

function originView(row: Omit<OriginRow, 'originKey'>) {
  return {
    host: row.host,
    status: row.status,
    firstConfirmedAt: row.firstConfirmedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}
