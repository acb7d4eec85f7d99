import { fail } from '#shared/errors.ts'
import { parseHost } from '#shared/origin-host.ts'
import type { StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { guardLiveStore } from '../live-guard.ts'
import { readPage, toPage } from '../pagination.ts'
import {
  listOrigins,
  type OriginPlace,
  type OriginStatus,
  putOriginStatus,
  type ShownOrigin,
} from './queries.ts'

/** Cursors hold ids; an origin's place is made to look like one: 16 digits and the hash. */
const PLACE = /^origin_(\d{16})([0-9a-f]{32})$/

export async function showOrigins(
  deps: ApiDeps,
  { storeId }: StoreCaller,
  query: { limit?: number; cursor?: string; status?: OriginStatus },
) {
  const { status } = query
  const page = readPage(query, { list: 'origins', storeId, status })
  const rows = await listOrigins(deps.db, storeId, status, readPlace(page.before), page.limit + 1)
  return toPage(page, rows, placeOf, originView)
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

function placeOf({ createdMicros, hostHash }: OriginPlace): string {
  return `origin_${createdMicros}${hostHash}`
}

/** A cursor is bound to its list, but anybody can make one: what is no place is the top. */
function readPlace(before: string | undefined): OriginPlace | undefined {
  const [, micros, hostHash] = PLACE.exec(before ?? '') ?? []
  return hostHash === undefined ? undefined : { createdMicros: Number(micros), hostHash }
}

function originView(row: ShownOrigin) {
  return {
    host: row.host,
    status: row.status,
    firstConfirmedAt: row.firstConfirmedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}
