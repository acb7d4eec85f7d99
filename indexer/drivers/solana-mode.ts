import type { Log } from '#shared/log.ts'

/**
 * Which way the chain is read. Accounts cost calls by the number of sellers, blocks cost the same for any number, some
 * megabytes each.
 */
export type Reading = 'auto' | 'accounts' | 'blocks'

export type Mode = {
  readonly isByAccounts: boolean
  /** Recipients worth naming: with more, everybody's transfers are read anyway. */
  recipientsMax(isSparing: boolean): number
  /** Whether accounts are to ring: not where so many are read only while calls are spared. */
  readonly mayListen: boolean
  /** Whether so few are read that sparing calls leaves time for the head. */
  readonly maySpare: boolean
  /** Milliseconds between rings for new slots; undefined when nobody waits for one. */
  readonly headEveryMs: number | undefined
  /** Milliseconds between two steps of finality: each second reading asks for every account, or for so many balances. */
  finalityEveryMs(balanceCount: number): number
  /** Decides anew for so many recipients, and whether calls are spared. */
  choose(recipientCount: number, isSparing: boolean): void
}

/** Recipients with whom accounts are the cheaper way, and with whom they become it again: apart, so that nothing swings. */
const ACCOUNTS_MAX = 40
const ACCOUNTS_AGAIN_MAX = 25
/**
 * The same while calls are spared: each block costs one, a look at a hundred accounts likewise. With more, two turns of looks
 * take longer than a head may look old, and the next payment would wait for all the blocks since: calls are not spared then.
 */
const ACCOUNTS_SPARING_MAX = 400
/** Recipients when accounts are forced: ten times what was measured. */
const FORCED_MAX = 10_000
const BLOCKS_HEAD_MS = 1_000
const ACCOUNTS_HEAD_MS = 2_000
const FINALITY_MS_PER_RECIPIENT = 10
const FINALITY_MS_PER_BALANCE = 5
const FINALITY_MS_MAX = 10_000

export function createMode(reading: Reading, log: Log): Mode {
  let isByAccounts = reading !== 'blocks'
  let count = 0
  return {
    get isByAccounts() {
      return isByAccounts
    },
    recipientsMax(isSparing) {
      const auto = isSparing ? ACCOUNTS_SPARING_MAX : ACCOUNTS_MAX
      return { auto, accounts: FORCED_MAX, blocks: 0 }[reading]
    },
    get mayListen() {
      return reading !== 'auto' || count <= ACCOUNTS_MAX
    },
    get maySpare() {
      return isByAccounts && count <= ACCOUNTS_SPARING_MAX
    },
    get headEveryMs() {
      if (!isByAccounts) return BLOCKS_HEAD_MS
      return count > 0 ? ACCOUNTS_HEAD_MS : undefined
    },
    finalityEveryMs(balanceCount) {
      const byBlocks = balanceCount * FINALITY_MS_PER_BALANCE
      return Math.min(FINALITY_MS_MAX, isByAccounts ? count * FINALITY_MS_PER_RECIPIENT : byBlocks)
    },
    choose(recipientCount, isSparing) {
      count = recipientCount
      if (reading !== 'auto') return
      const max = isByAccounts ? ACCOUNTS_MAX : ACCOUNTS_AGAIN_MAX
      const next = count <= (isSparing ? ACCOUNTS_SPARING_MAX : max)
      if (next !== isByAccounts)
        log.info('reads the chain another way', { byAccounts: next, count })
      isByAccounts = next
    },
  }
}
