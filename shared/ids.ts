import { randomFillSync } from 'node:crypto'

/** Every id prefix on the wire (spec section 1, contract section 1) and the few used only inside. */
export type IdPrefix =
  | 'acct'
  | 'pay'
  | 'prod'
  | 'price'
  | 'plink'
  | 'cs'
  | 'store'
  | 'key'
  | 'sub'
  | 'dlv'
  | 'trf'
  | 'wal'
  | 'req'
  | 'evt'
  | 'whs'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_CHARACTERS = 10
const RANDOM_BYTES = 17
const ORDER_RANDOM_BYTES = 5

/**
 * A new id: `<prefix>_` + 10 characters of milliseconds + 28 characters holding 136 random bits, in Crockford's
 * lower-case base 32. Ids made later sort later (as `text collate "C"`), and none can be guessed.
 */
export function newId(prefix: IdPrefix, nowMs: number = Date.now()): string {
  return `${prefix}_${encodeTime(nowMs)}${randomText(RANDOM_BYTES)}`
}

/** The last millisecond that an id can name: 50 bits, in the year 37648. */
const TIME_MS_MAX = 2 ** 50 - 1

/** Sorts before every id of this prefix made at this millisecond or later, and behind every one made before. */
export function idFloor(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${encodeTime(Math.min(Math.max(0, Math.floor(ms)), TIME_MS_MAX))}`
}

let lastOrderMs = 0
let lastOrderCount = 0

/**
 * A key that sorts in the order it was made within this process, and by clock between processes.
 * Events carry one, so that the relay numbers a payment's `detected` before its `confirmed`.
 */
export function newOrderKey(nowMs: number = Date.now()): string {
  if (nowMs > lastOrderMs) {
    lastOrderMs = nowMs
    lastOrderCount = 0
  } else {
    lastOrderCount += 1
  }
  const count = lastOrderCount.toString(36).padStart(6, '0')
  return `${encodeTime(lastOrderMs)}${count}${randomText(ORDER_RANDOM_BYTES)}`
}

/** Random bytes fetched at once: asking the generator for a few takes as long as for thousands. Each is given out once. */
const POOL_BYTES = 4_096
const pool = new Uint8Array(POOL_BYTES)
let poolUsed = POOL_BYTES

/** The text of the latest ones, as characters: put together one by one as a string it takes twice as long. */
const text = Buffer.alloc(Math.ceil((RANDOM_BYTES * 8) / 5))
const CHARACTERS = Buffer.from(ALPHABET)

/** So many random bytes in base 32. */
function randomText(count: number): string {
  if (poolUsed + count > POOL_BYTES) {
    randomFillSync(pool)
    poolUsed = 0
  }
  let length = 0
  let bits = 0
  let held = 0
  for (const end = poolUsed + count; poolUsed < end; poolUsed += 1) {
    held = (held << 8) | (pool[poolUsed] ?? 0)
    // What was given out is not kept: it is somebody's capability.
    pool[poolUsed] = 0
    for (bits += 8; bits >= 5; length += 1) {
      bits -= 5
      text[length] = CHARACTERS[(held >> bits) & 31] ?? 0
    }
    held &= (1 << bits) - 1
  }
  if (bits > 0) {
    text[length] = CHARACTERS[(held << (5 - bits)) & 31] ?? 0
    length += 1
  }
  return text.toString('latin1', 0, length)
}

let encodedMs = -1
let encoded = ''

/** Many ids are made in one millisecond. */
function encodeTime(ms: number): string {
  if (ms !== encodedMs) {
    encoded = encodeMs(ms)
    encodedMs = ms
  }
  return encoded
}

function encodeMs(ms: number): string {
  let rest = ms
  let text = ''
  for (let index = 0; index < TIME_CHARACTERS; index += 1) {
    text = ALPHABET.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** Whether a text has the shape of an id with this prefix; says nothing about whether it exists. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return (
    text.length <= 80 &&
    text.startsWith(`${prefix}_`) &&
    /^[0-9a-z]+$/.test(text.slice(prefix.length + 1))
  )
}
