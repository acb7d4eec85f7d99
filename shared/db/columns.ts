/** What Postgres reads in an array as it stands: the word NULL aside, which means nothing. */
const PLAIN = /^[\w.:+-]+$/
const NULL = /^null$/i

/**
 * A column of texts, or of what Postgres reads from text, as the literal of an array: `${column(ids)}::text[]`. Thousands of
 * rows are sent with every large commit, nearly all of them ids, hashes and numbers; the driver's own way looks at each
 * value four times.
 */
export function column(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map(toElement).join()}}`
}

function toElement(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  if (PLAIN.test(value) && !NULL.test(value)) return value
  return `"${value.replace(/[\\"]/g, '\\$&')}"`
}
