import type { Rpc } from '../rpc.ts'
import type { Accounts } from './solana-accounts.ts'
import type { Mode } from './solana-mode.ts'

/** How calls are spared here: only once what is watched costs few, for what is new costs calls of its own. */
export type Sparing = {
  /** Whether calls are to be spared. */
  readonly isWanted: boolean
  want(isWanted: boolean): void
  /** Who may be paid, up to the head just read: chooses the way of reading, and begins with accounts where that is another. */
  expect(recipients: readonly string[], headSlot: number): Promise<void>
  /** Up to here blocks are read, though accounts are from there on. */
  readonly blocksTo: number
  /** Everything up to a slot is about to be read a second time. */
  noteAgain(to: number): void
}

/** With more new accounts at once blocks are read up to where their balances were seen, instead of each one's history. */
const NEW_ACCOUNTS_MAX = 80

export function createSparing(rpc: Pick<Rpc, 'spare'>, mode: Mode, accounts: Accounts): Sparing {
  let isWanted = false
  let blocksTo = 0
  /** The last blocks before accounts cost a call each, once more. */
  let isReadAgain = true
  const arrange = () => rpc.spare(isWanted && mode.maySpare && accounts.areKnown() && isReadAgain)
  return {
    get isWanted() {
      return isWanted
    },
    want(next) {
      isWanted = next
      arrange()
    },
    async expect(recipients, headSlot) {
      const wasByAccounts = mode.isByAccounts
      mode.choose(recipients.length, isWanted)
      await accounts.expect(mode.isByAccounts ? recipients : [])
      const isSwitching = !wasByAccounts || accounts.newCount() > NEW_ACCOUNTS_MAX
      if (isWanted && mode.isByAccounts && isSwitching) {
        isReadAgain = false
        arrange()
        blocksTo = Math.max(headSlot, await accounts.prime())
      }
      arrange()
    },
    get blocksTo() {
      return mode.isByAccounts ? blocksTo : Number.MAX_SAFE_INTEGER
    },
    noteAgain(to) {
      if (to >= blocksTo) isReadAgain = true
    },
  }
}
