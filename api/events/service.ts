import { fail } from '#shared/errors.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { type List, readSlice, SCANNED_MAX, type Stretch, sliceToPage } from '../list.ts'
import { type PageStart, readPage } from '../pagination.ts'
import type { EventsQuery } from './model.ts'
import {
  type EventFilter,
  type EventRow,
  hasUnnumbered,
  type KeyStretch,
  listEvents,
  listEventsAfter,
  readEventScanEnd,
  readLastSequence,
} from './queries.ts'

/** Cursors hold ids; an order key or a sequence is made to look like one. */
const KEY_PREFIX = 'evt_'
const SEQUENCE_PREFIX = 'seq_'

/** Milliseconds a list waits at most for the relay to number what its caller has just caused, and between two looks. */
const NUMBERING_WAIT_MS = 500
const NUMBERING_POLL_MS = 20

/** Errors: invalid_request (`after` without one mode), mode_mismatch. */
export async function showEvents(deps: ApiDeps, caller: StoreCaller, query: EventsQuery) {
  const modes = modesOf(caller, query.mode)
  const { type, paymentId, after } = query
  const filter = { storeId: caller.storeId, type, paymentId }
  const page = readPage(query, { list: 'events', ...filter, modes, after })
  await awaitNumbers(deps, caller.storeId, modes)
  if (after !== undefined) return catchUp(deps, page, filter, oneOf(modes), after)
  const list: List<EventRow> = {
    read: (stretch) => listEvents(deps.db, filter, toKeys(stretch)),
    readScanEnd: async (stretch) => {
      const end = await readEventScanEnd(deps.db, filter, toKeys(stretch))
      return end === undefined ? undefined : `${KEY_PREFIX}${end}`
    },
    idOf: (row) => `${KEY_PREFIX}${row.orderKey}`,
  }
  return sliceToPage(page, await readSlice(list, modes, page), eventView)
}

/**
 * An event is numbered a moment after its cause was answered. Who acts and then looks should see it, so a list gives the
 * relay that moment. Without a relay, or behind a backlog, it shows what is numbered.
 */
async function awaitNumbers(deps: ApiDeps, storeId: string, modes: readonly Mode[]): Promise<void> {
  const endMs = deps.nowMs() + NUMBERING_WAIT_MS
  while ((await hasUnnumbered(deps.db, storeId, modes)) && deps.nowMs() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, NUMBERING_POLL_MS))
  }
}

/** A page from a sequence on, oldest first. Passes over a bounded number of events in search of those asked for. */
async function catchUp(
  deps: ApiDeps,
  page: PageStart,
  filter: EventFilter,
  mode: Mode,
  after: number,
) {
  const from = Number(page.before?.slice(SEQUENCE_PREFIX.length) ?? after)
  const limit = page.limit + 1
  const found = await listEventsAfter(deps.db, filter, { mode, after: from, limit })
  const rows = found.slice(0, page.limit)
  const scannedTo = from + SCANNED_MAX
  const last = found.length > page.limit ? rows.at(-1)?.sequence : undefined
  const isMore =
    last !== undefined || (await readLastSequence(deps.db, filter.storeId, mode)) > scannedTo
  const next = isMore ? `${SEQUENCE_PREFIX}${last ?? scannedTo}` : undefined
  return sliceToPage(page, { rows, next }, eventView)
}

function oneOf(modes: readonly Mode[]): Mode {
  const [mode, another] = modes
  if (mode !== undefined && another === undefined) return mode
  return fail('invalid_request', {
    message: 'Sequences are counted per mode: name it, test or live.',
    param: 'mode',
  })
}

function toKeys({ mode, from, before, limit }: Stretch): KeyStretch {
  const keyOf = (id: string) => (id.startsWith(KEY_PREFIX) ? id.slice(KEY_PREFIX.length) : id)
  return { mode, from: keyOf(from), before: keyOf(before), limit }
}

function eventView({ body, mode, sequence }: EventRow) {
  // Our own bytes, as they were signed and sent.
  return { ...(JSON.parse(body) as Record<string, unknown>), mode, sequence }
}
