/** Which slots this process read by accounts: only there a second reading by accounts sees what the first saw. */
export type Ranges = {
  note(from: number, to: number, isByAccounts: boolean): void
  isByAccounts(from: number, to: number): boolean
}

/** Ranges remembered: of far more than the slots that are not final yet. */
const RANGES_MAX = 4_096

export function createRanges(): Ranges {
  const ranges: { from: number; to: number; isByAccounts: boolean }[] = []
  return {
    note(from, to, isByAccounts) {
      // Read again from here on: what was known behind it has left the chain.
      while ((ranges.at(-1)?.from ?? 0) >= from && ranges.length > 0) ranges.pop()
      const last = ranges.at(-1)
      if (last && last.to >= from) last.to = from - 1
      if (last?.isByAccounts === isByAccounts && last.to === from - 1) last.to = to
      else ranges.push({ from, to, isByAccounts })
      if (ranges.length > RANGES_MAX) ranges.shift()
    },
    isByAccounts(from, to) {
      const holding = ranges.find((range) => range.from <= from && range.to >= to)
      return holding?.isByAccounts ?? false
    },
  }
}
