import { declareColumn, mineUntil } from '../support/fault-column.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

declareColumn('during a reorganisation', async (column) => {
  const { chain } = column
  const kept = await column.pay('first')
  await column.pay('lost')
  await mineUntil(column, 'lost', 'DETECTED', { isMining: false })
  await column.begin()
  await chain.reorg(2, [kept])
  await mineUntil(column, 'lost', 'PENDING')
  await mineUntil(column, 'first', 'CONFIRMED')
  await column.pay('second')
  await mineUntil(column, 'second', 'CONFIRMED')
})
