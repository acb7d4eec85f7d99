import { encode } from 'uqr'
import { type Html, html } from './html.ts'

/** Modules of quiet space around the code (ISO/IEC 18004, section 9.1). */
const QUIET_MODULES = 4

/**
 * A QR code as an inline drawing, one unit to a module. Error correction of level M: what a screen shows has no dirt on it.
 * `label` is read to those who do not see it.
 */
export function qrCode(text: string, label: string): Html {
  const { size, data } = encode(text, { ecc: 'M', border: QUIET_MODULES })
  // A stroke per dark run: rectangles module by module leave hairlines between them when scaled.
  const path = data.flatMap((row, y) =>
    darkRuns(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`),
  )
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path d="${path.join('')}"/></svg>`
}

/** Where dark runs begin in a row, and how long they are. */
function darkRuns(row: readonly boolean[]): [x: number, length: number][] {
  const runs: [number, number][] = []
  row.forEach((isDark, x) => {
    const last = runs.at(-1)
    if (!isDark) return
    if (last !== undefined && last[0] + last[1] === x) last[1] += 1
    else runs.push([x, 1])
  })
  return runs
}
