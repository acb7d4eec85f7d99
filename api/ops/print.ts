import type { Answer } from './command.ts'

type Row = Readonly<Record<string, unknown>>

/** Spaces between two columns. */
const GAP = '  '

/** An answer for a person: a block of `name  value` lines for each object, a table for each list. Pure. */
export function toText(answer: Answer): string {
  const blocks: string[] = []
  addBlocks(blocks, '', answer)
  return `${blocks.join('\n\n')}\n`
}

/** Adds what an object holds itself, and behind it the objects and lists in it, each under its path. */
function addBlocks(blocks: string[], path: string, value: Row): void {
  const entries = Object.entries(value)
  const plain = entries.filter(([, one]) => !isRow(one) && !isTable(one))
  const heading = path === '' ? [] : [`${path}:`]
  if (plain.length > 0) blocks.push([...heading, ...toLines(plain)].join('\n'))
  for (const [name, one] of entries) {
    const below = path === '' ? name : `${path}.${name}`
    if (isTable(one)) blocks.push([`${below}:`, ...toTable(one)].join('\n'))
    else if (isRow(one)) addBlocks(blocks, below, one)
  }
}

function toLines(entries: readonly (readonly [string, unknown])[]): string[] {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) =>
    `${GAP}${name.padEnd(width)}${GAP}${toCell(value)}`.trimEnd(),
  )
}

function toTable(rows: readonly Row[]): string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = [names, ...rows.map((row) => names.map((name) => toCell(row[name])))]
  const widths = names.map((_, column) =>
    Math.max(...cells.map((row) => (row[column] ?? '').length)),
  )
  return cells.map((row) =>
    `${GAP}${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(GAP)}`.trimEnd(),
  )
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (value instanceof Date) return value.toISOString()
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  // What sellers and buyers wrote must not steer the operator's terminal.
  return text.replace(/\p{Cc}/gu, '�')
}

function isRow(value: unknown): value is Row {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  )
}

/** A list of objects. An empty one is a plain value: it has no columns. */
function isTable(value: unknown): value is Row[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRow)
}
