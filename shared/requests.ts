/** Wakes whoever does what rows of `requests` ask for. The payload says for whom the row is: see each kind. */
export const REQUESTS_CHANNEL = 'requests'

/**
 * `requests.kind` of what the indexer that leads a deployment does; `subject` and the notification's payload name it, and so one
 * of a kind is open for a deployment at a time. A recheck's row is removed when it is done: its answer is the payment.
 */
export const RECHECK_KIND = 'recheck'
export const RESCAN_KIND = 'rescan'

/** `requests.body` of a rescan: blocks to read once more, both inclusive. */
export type RescanBody = { fromBlock: number; toBlock: number }

/** `requests.result` of a rescan, done or under way. */
export type RescanResult = {
  /** The last block that was read; null before the first. Less than was asked for where the deployment is not there yet. */
  toBlock: number | null
  /** Transfers that no reading had found before. */
  foundCount: number
  /** Transfers that this reading did not find: they do not count until one finds them. */
  heldCount: number
  /** Readings in a row that failed. */
  failureCount: number
  /** Why it ended early. */
  error?: string
}
