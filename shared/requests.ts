/** Wakes whoever does what rows of `requests` ask for. The payload says for whom the row is: see each kind. */
export const REQUESTS_CHANNEL = 'requests'

/** `requests.kind` of what an indexer does; `subject` and the notification's payload name the deployment. */
export const RECHECK_KIND = 'recheck'
export const RESCAN_KIND = 'rescan'

/** `requests.body` of a rescan: blocks to read once more, both inclusive. */
export type RescanBody = { fromBlock: number; toBlock: number }

/** `requests.result` of a rescan. `toBlock` is the last block that was read; `error` says why no more were. */
export type RescanResult = { toBlock: number | null; foundCount: number; error?: string }
