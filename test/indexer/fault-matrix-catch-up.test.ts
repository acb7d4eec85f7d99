import { declareColumn, mineUntil } from '../support/fault-column.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

/** Far enough behind to be read in ranges, near enough for receipts to be the second reading. */
const BLOCKS_BEHIND = 50

declareColumn('catching up', async (column) => {
  const { chain, cells } = column
  await Promise.all(cells.map(({ following }) => following.stop()))
  await column.pay('first')
  await chain.mine(BLOCKS_BEHIND)
  await Promise.all(cells.map(({ following }) => following.start()))
  await column.begin()
  await mineUntil(column, 'first', 'CONFIRMED')
  await column.pay('second')
  await mineUntil(column, 'second', 'CONFIRMED')
})
