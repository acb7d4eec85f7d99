/** What a spreadsheet takes for a formula when a cell begins with it (OWASP, "CSV Injection"). */
const FORMULA = /^[=+\-@\t\r]/
const NEEDS_QUOTES = /[",\r\n]/

/** A line of RFC 4180 with its line end. Absent cells are empty; what looks like a formula is made a text. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map(toCell).join(',')}\r\n`
}

function toCell(value: string | number | null | undefined): string {
  const text = String(value ?? '')
  const safe = FORMULA.test(text) ? `'${text}` : text
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Whether an Accept header asks for CSV by its name, and for nothing less than for JSON by its name. */
export function isCsvAccepted(accept: string | null): boolean {
  const csv = weightOf(accept ?? '', 'text/csv')
  return csv > 0 && csv >= weightOf(accept ?? '', 'application/json')
}

/** The weight a media type is named with (RFC 9110, 12.4.2); 0 where it is not, wildcards apart. */
function weightOf(accept: string, wanted: string): number {
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (type !== wanted) continue
    const weight = Number(parameters.find((one) => one.startsWith('q='))?.slice(2) ?? 1)
    return Number.isNaN(weight) ? 0 : weight
  }
  return 0
}

/**
 * A body that is made as fast as it is read: `readMore` answers the next lines, and undefined at the end. Never holds
 * more than one answer. An error cuts the body off, so that nobody takes half a list for the whole.
 */
export function streamText(
  readMore: () => Promise<string | undefined>,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isCanceled = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const text = await readMore()
          // Nobody reads any more: the connection was closed while the next piece was being made.
          if (isCanceled) return
          if (text === undefined) controller.close()
          else controller.enqueue(encoder.encode(text))
        } catch (error) {
          onError(error)
          controller.error(error)
        }
      },
      cancel() {
        isCanceled = true
      },
    },
    { highWaterMark: 0 },
  )
}
