import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { column } from '#shared/db/columns.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
before(async () => {
  database = await createTestDatabase()
})
after(() => database.drop())

test('a column arrives as it was, whatever its texts hold', async () => {
  const texts = [
    ...['pay_01', '0xAb', '12.5', '2026-01-01T00:00:00.000Z', '', ' ', 'a b', 'a,b', '{a}', '{}'],
    ...[
      'null',
      'NULL',
      'nUlL',
      '"',
      '\\',
      '\\"',
      '{"id":"a\\nb","n":null}',
      "'",
      '\n',
      '\t',
      'é',
      '💶',
    ],
    null,
  ]
  const [row] = await database.db`select to_jsonb(${column(texts)}::text[]) as texts`
  assert.deepEqual(row?.['texts'], texts)
  for (const text of texts) {
    const [apart] = await database.db`select to_jsonb(${column([text, 'b'])}::text[]) as texts`
    assert.deepEqual(apart?.['texts'], [text, 'b'])
  }
})

test('numbers and truths arrive as such, and an empty column is empty', async () => {
  const [row] = await database.db`
    select to_jsonb(${column([1, -2, null])}::integer[]) as numbers,
      to_jsonb(${column([true, false, null])}::boolean[]) as truths,
      to_jsonb(${column([])}::text[]) as nothing`
  assert.deepEqual(
    { ...row },
    {
      numbers: [1, -2, null],
      truths: [true, false, null],
      nothing: [],
    },
  )
})
