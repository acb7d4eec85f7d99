import { declareColumn, mineUntil } from '../support/fault-column.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

declareColumn('at the tip', async (column) => {
  await column.begin()
  await column.pay('first')
  await mineUntil(column, 'first', 'CONFIRMED')
  await column.pay('second')
  await mineUntil(column, 'second', 'CONFIRMED')
})
