import type { Mode } from '#shared/networks/registry.ts'

/** An event as the API lists it: the envelope's fields, and where it stands. */
export type ListedEvent = {
  /** The exact text that a webhook would have posted. */
  body: string
  id: string
  type: string
  sequence: number
}

/** A store's events, read with its secret key. Every method throws {@link ApiFault} or what `fetch` throws. */
export type Source = {
  /** The key's own store. */
  readStoreId(): Promise<string>
  /** The last sequence given so far; 0 when no event was emitted yet. */
  readNewest(storeId: string): Promise<number>
  /** Events behind a sequence, oldest first, some at a time. */
  readAfter(storeId: string, sequence: number): Promise<ListedEvent[]>
}

/** The API answered, but no success. `isHopeless`: asking again will not help. */
export class ApiFault extends Error {
  override readonly name = 'ApiFault'
  readonly isHopeless: boolean

  constructor(message: string, isHopeless: boolean) {
    super(message)
    this.isHopeless = isHopeless
  }
}

/** Milliseconds for one answer. */
const TIMEOUT_MS = 15_000
/** Events of one answer: a list's most. */
const PAGE_COUNT = 100
/** Characters of a fault's message that are shown. */
const MESSAGE_LENGTH_MAX = 300
/** Too many requests, or one that took too long: worth another try. */
const PASSING_STATUSES = [408, 425, 429]

type WireEvent = { id: string; type: string; sequence: number; mode: Mode }

/** Reads from the API at `baseUrl`, which ends in `/v1`. Only what the key's own mode emits is read. */
export function createSource(options: {
  baseUrl: string
  key: string
  mode: Mode
  signal: AbortSignal
}): Source {
  const { baseUrl, mode, signal } = options
  const get = async (path: string) => {
    const response = await fetch(`${baseUrl}${path}`, {
      headers: { Authorization: `Bearer ${options.key}` },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const text = await response.text()
    if (response.status !== 200) throw faultOf(response.status, text)
    return parse(text)
  }
  const list = async (storeId: string, query: string) => {
    const path = `/stores/${storeId}/events?mode=${mode}&limit=${PAGE_COUNT}${query}`
    return (await get(path)) as WireEvent[]
  }
  return {
    async readStoreId() {
      const [store] = (await get('/stores')) as { storeId: string }[]
      if (store === undefined) throw new ApiFault('the key belongs to no store', true)
      return store.storeId
    },
    async readNewest(storeId) {
      // Newest first by when they were made; numbers were given a moment later, and may cross.
      const newest = await list(storeId, '')
      return Math.max(0, ...newest.map(({ sequence }) => sequence))
    },
    async readAfter(storeId, after) {
      return (await list(storeId, `&after=${after}`)).map(toListed)
    },
  }
}

/** The envelope without what the list adds, in the order it came: the very bytes that a webhook carries. */
function toListed(event: WireEvent): ListedEvent {
  const { mode: _mode, sequence, ...envelope } = event
  return { body: JSON.stringify(envelope), id: event.id, type: event.type, sequence }
}

function parse(text: string): unknown {
  try {
    return (JSON.parse(text) as { data: unknown }).data
  } catch {
    throw new ApiFault('what answers at --base-url is not this service', true)
  }
}

function faultOf(status: number, text: string): ApiFault {
  let message = ''
  try {
    const { error } = JSON.parse(text) as { error?: { code?: string; message?: string } }
    message = `${error?.code}: ${error?.message}`
  } catch {
    message = 'no answer of this service'
  }
  const isHopeless = status < 500 && !PASSING_STATUSES.includes(status)
  return new ApiFault(`${status} ${message}`.slice(0, MESSAGE_LENGTH_MAX), isHopeless)
}
