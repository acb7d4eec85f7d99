import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Db } from '#shared/db.ts'
import { createTestDatabase } from '../support/database.ts'

/** What the migrations come to, as text: `schema.txt` beside this file. */
export const SCHEMA_FILE = new URL('schema.txt', import.meta.url)

type Line = { line: string }

/**
 * Tables with columns, constraints and indexes, then functions: what a reader of a migration wants to know. In the words
 * of Postgres, and the same on all versions it runs on.
 */
export async function describeSchema(db: Db): Promise<string> {
  const tables = await db<{ name: string; isUnlogged: boolean; options: string | null }[]>`
    select relname::text as name, relpersistence = 'u' as is_unlogged, array_to_string(reloptions, ', ') as options
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
    order by relname collate "C"`
  const parts = []
  for (const { name, isUnlogged, options } of tables) {
    const head = `${isUnlogged ? 'unlogged table' : 'table'} ${name}${options ? ` (${options})` : ''}`
    parts.push([head, ...(await describeTable(db, name))].join('\n  '))
  }
  return `${[...parts, (await describeFunctions(db)).join('\n')].join('\n\n')}\n`
}

async function describeTable(db: Db, table: string): Promise<string[]> {
  const columns = await db<Line[]>`
    select concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attcollation <> t.typcollation then 'collate ' || quote_ident(c.collname) end,
      case when a.attnotnull then 'not null' end,
      case when a.attidentity <> '' then 'identity' end,
      case when a.attgenerated <> '' then 'always' when d.oid is not null then 'default' end,
      pg_get_expr(d.adbin, d.adrelid)) as line
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    left join pg_collation c on c.oid = a.attcollation
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${table}::regclass and a.attnum > 0 and not a.attisdropped
    order by a.attnum`
  const constraints = await db<Line[]>`
    select pg_get_constraintdef(oid) as line from pg_constraint
    where conrelid = ${table}::regclass and contype <> 'n'
    order by contype, conname collate "C"`
  const indexes = await db<Line[]>`
    select pg_get_indexdef(indexrelid) as line from pg_index i
    where indrelid = ${table}::regclass
      and not exists (select from pg_constraint where conindid = i.indexrelid and conrelid = i.indrelid)
    order by indexrelid::regclass::text collate "C"`
  return [...columns, ...constraints, ...indexes].map(({ line }) => line)
}

async function describeFunctions(db: Db): Promise<string[]> {
  const rows = await db<Line[]>`
    select concat_ws(' ', case prokind when 'p' then 'procedure' else 'function' end,
      proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
      'returns ' || pg_get_function_result(p.oid), 'language ' || l.lanname,
      case provolatile when 'i' then 'immutable' when 's' then 'stable' end,
      'set ' || array_to_string(proconfig, ', ')) as line
    from pg_proc p
    join pg_language l on l.oid = p.prolang
    where pronamespace = 'public'::regnamespace
    order by proname collate "C"`
  return rows.map(({ line }) => line)
}

// `bun test/sql/describe-schema.ts` writes the file anew, to be read in the diff and committed.
if (import.meta.main) {
  const database = await createTestDatabase()
  await writeFile(fileURLToPath(SCHEMA_FILE), await describeSchema(database.db))
  await database.drop()
}
