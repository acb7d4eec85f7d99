import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createTestDatabase } from '../support/database.ts'
import { describeSchema, SCHEMA_FILE } from './describe-schema.ts'

test('the migrations come to what schema.txt says; `bun test/sql/describe-schema.ts` writes it anew', {
  timeout: 20_000,
}, async () => {
  const database = await createTestDatabase()
  try {
    assert.equal(await describeSchema(database.db), await readFile(SCHEMA_FILE, 'utf8'))
  } finally {
    await database.drop()
  }
})
