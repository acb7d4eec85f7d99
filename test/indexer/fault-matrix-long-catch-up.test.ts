import { declareColumn, mineUntil } from '../support/fault-column.ts'
import { LONG_FAULTS } from '../support/faults.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

/** Far more than a second reading takes receipts of at a time. */
const BLOCKS_BEHIND = 400

declareColumn(
  'catching up from far behind',
  async (column) => {
    const { chain, cells } = column
    await Promise.all(cells.map(({ following }) => following.stop()))
    await chain.mine(BLOCKS_BEHIND / 2)
    await column.pay('first')
    await chain.mine(BLOCKS_BEHIND / 2)
    await column.begin()
    await Promise.all(cells.map(({ following }) => following.start()))
    await mineUntil(column, 'first', 'CONFIRMED')
    await column.pay('second')
    await mineUntil(column, 'second', 'CONFIRMED')
  },
  LONG_FAULTS,
)
