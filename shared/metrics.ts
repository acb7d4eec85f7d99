/** Label names and values of one time series. Values come from small closed sets: never ids, addresses or hosts. */
export type Labels = Readonly<Record<string, string>>

export type Counter = {
  add(labels?: Labels, count?: number): void
  /** For what is counted elsewhere: its count by now. */
  reach(total: number, labels?: Labels): void
}
export type Gauge = { set(value: number, labels?: Labels): void }
export type Histogram = { observe(value: number, labels?: Labels): void }

export type Metrics = {
  counter(name: string, help: string): Counter
  gauge(name: string, help: string): Gauge
  /** `bounds` are the buckets' upper ends, ascending, in the unit that the name ends in. */
  histogram(name: string, help: string, bounds?: readonly number[]): Histogram
  /** The text exposition format, version 0.0.4 (prometheus.io, "Exposition formats"). */
  render(): string
}

/** The content type of {@link Metrics.render}. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Time series of one metric; more mean that a label holds what it should not, and are dropped. */
const SERIES_MAX = 1_000
/** Seconds: from a cached answer to a request that meets its deadline. */
const SECONDS_BOUNDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Series = { labels: string; value: number; buckets?: number[]; count?: number }
type Family = { name: string; help: string; type: string; series: Map<string, Series> }

/** A process's own numbers, kept in memory. */
export function createMetrics(): Metrics {
  const families: { family: Family; bounds: readonly number[] }[] = []
  const open = (name: string, help: string, type: string, bounds: readonly number[] = []) => {
    const family: Family = { name, help, type, series: new Map() }
    families.push({ family, bounds })
    return family
  }
  return {
    counter(name, help) {
      const family = open(name, help, 'counter')
      return {
        add(labels, count = 1) {
          const series = seriesOf(family, labels)
          if (series) series.value += count
        },
        reach: (total, labels) => setValue(family, total, labels),
      }
    },
    gauge(name, help) {
      const family = open(name, help, 'gauge')
      return { set: (value, labels) => setValue(family, value, labels) }
    },
    histogram(name, help, bounds = SECONDS_BOUNDS) {
      const family = open(name, help, 'histogram', bounds)
      return {
        observe(value, labels) {
          const series = seriesOf(family, labels)
          if (series) observe(series, value, bounds)
        },
      }
    },
    render: () =>
      families.map(({ family, bounds }) => renderFamily(family, bounds).join('\n')).join('\n'),
  }
}

function seriesOf(family: Family, labels?: Labels): Series | undefined {
  const key = labels === undefined ? '' : keyOf(labels)
  const known = family.series.get(key)
  if (known || family.series.size >= SERIES_MAX) return known
  const series: Series = { labels: key, value: 0 }
  family.series.set(key, series)
  return series
}

function keyOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    .join(',')
}

function setValue(family: Family, value: number, labels?: Labels): void {
  const series = seriesOf(family, labels)
  if (series) series.value = value
}

function observe(series: Series, value: number, bounds: readonly number[]): void {
  series.buckets ??= bounds.map(() => 0)
  const index = bounds.findIndex((bound) => value <= bound)
  if (index >= 0) series.buckets[index] = (series.buckets[index] ?? 0) + 1
  series.count = (series.count ?? 0) + 1
  series.value += value
}

function renderFamily({ name, help, type, series }: Family, bounds: readonly number[]): string[] {
  const lines = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`]
  for (const one of series.values()) {
    if (type === 'histogram') lines.push(...renderHistogram(name, one, bounds))
    else lines.push(`${name}${braces(one.labels)} ${one.value}`)
  }
  return [...lines, '']
}

function renderHistogram(name: string, series: Series, bounds: readonly number[]): string[] {
  const { labels, value, buckets = [], count = 0 } = series
  const comma = labels === '' ? '' : ','
  let sum = 0
  const lines = bounds.map((bound, index) => {
    sum += buckets[index] ?? 0
    return `${name}_bucket{${labels}${comma}le="${bound}"} ${sum}`
  })
  return [
    ...lines,
    `${name}_bucket{${labels}${comma}le="+Inf"} ${count}`,
    `${name}_sum${braces(labels)} ${value}`,
    `${name}_count${braces(labels)} ${count}`,
  ]
}

function braces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function escapeHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
