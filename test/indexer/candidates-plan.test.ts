import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeDb, openDb } from '#shared/db.ts'
import { type Hit, readCandidates } from '../../indexer/queries.ts'
import { createTestDatabase } from '../support/database.ts'
import { randomEvmAddress } from '../support/seed.ts'

/** Postgres plans a statement's first five executions for their parameters, and then compares. */
const EXECUTION_COUNT = 8

// Guards against three milliseconds of planning for a query of one, at every block with a transfer.
test('who a transfer at the tip may be meant for is looked up by a plan that is kept', async () => {
  const database = await createTestDatabase()
  const db = openDb({ url: database.url, applicationName: 'test', poolSizeMax: 1 })
  try {
    for (let index = 0; index < EXECUTION_COUNT; index += 1) {
      assert.deepEqual(await readCandidates(db, 'base:test', [hitOf(index)], 30_000), [[]])
    }
    const rows = await db<{ genericPlans: number; customPlans: number }[]>`
      select generic_plans, custom_plans from pg_prepared_statements where statement like '%unsure%'`
    assert.deepEqual(
      rows.filter(({ customPlans }) => customPlans > 0),
      [{ genericPlans: EXECUTION_COUNT - 5, customPlans: 5 }],
    )
  } finally {
    await closeDb(db, 1_000)
    await database.drop()
  }
})

function hitOf(index: number): Hit {
  const observation = {
    blockNumber: index,
    blockHash: `0x${index}`,
    blockTimeMs: 1_700_000_000_000 + index,
    txHash: `0x${index}`,
    index,
    contract: randomEvmAddress(),
    from: randomEvmAddress(),
    to: randomEvmAddress(),
    amountBaseUnits: 1_000_000n,
  }
  return { observation, token: 'usdc', decimals: 6 }
}
