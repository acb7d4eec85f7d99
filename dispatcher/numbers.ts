import { createMetrics } from '#shared/metrics.ts'
import type { Attempted } from './deliver.ts'
import type { Lanes } from './lanes.ts'

/** What a dispatcher counts. */
export type Numbers = {
  attempted(attempted: Attempted): void
  relayed(eventCount: number): void
  expired(paymentCount: number): void
  /** The Prometheus text, with the lanes as they are now. */
  render(lanes: Lanes<unknown>): string
}

/** Makes a dispatcher's numbers, all zero. */
export function createNumbers(): Numbers {
  const metrics = createMetrics()
  const attempts = metrics.counter('webhook_attempts_total', 'POSTs to sellers, by outcome.')
  const seconds = metrics.histogram('webhook_attempt_seconds', 'Duration of POSTs to sellers.')
  const events = metrics.counter('events_relayed_total', 'Events that got their sequence here.')
  const expired = metrics.counter('payments_expired_total', 'Payments whose window closed here.')
  const inFlight = metrics.gauge('webhooks_in_flight', 'POSTs on their way.')
  const waiting = metrics.gauge('webhooks_waiting', 'Deliveries waiting for their endpoint.')
  const slow = metrics.gauge('webhook_endpoints_slow', 'Endpoints that do not answer in time.')
  /** A time series is looked up by its labels when somebody reads, not for each of thousands of attempts a second. */
  const counts = new Map<string, number>()
  return {
    attempted({ result, durationMs }) {
      const outcome = outcomeOf(result)
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      seconds.observe(durationMs / 1000)
    },
    relayed: (eventCount) => events.add({}, eventCount),
    expired: (paymentCount) => expired.add({}, paymentCount),
    render(lanes) {
      for (const [outcome, count] of counts) attempts.reach(count, { outcome })
      inFlight.set(lanes.inFlightCount())
      waiting.set(lanes.waitingCount())
      slow.set(lanes.slowKeys().length)
      return metrics.render()
    },
  }
}

function outcomeOf(result: Attempted['result']): string {
  if (result.kind === 'failed') return result.fault
  return `${Math.floor(result.status / 100)}xx`
}
