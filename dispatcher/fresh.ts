import type { DueDelivery } from './attempt-queries.ts'
import type { Promotion } from './queue.ts'

/** How long what the relay read of a delivery may stand in for reading it, in milliseconds: less than what a
 * delivery may wait here for its endpoint anyway. */
export const FRESH_MS = 1_000
/** Deliveries remembered, a count; beyond it the oldest are forgotten. */
export const FRESH_COUNT_MAX = 4_000

/** A delivery, and when it was read by the clock that only moves forward. */
export type Reading = { readonly delivery: DueDelivery; readonly readAtMs: number }

/**
 * What this process's relay read of the deliveries it has just queued: whoever fetches their jobs a moment
 * later, mostly this process, need not read them again.
 */
export type Fresh = {
  add(deliveries: readonly (DueDelivery & { token: string })[], readAtMs: number): void
  /** The reading of a promotion, once, while it is fresh at `nowMs` of that clock. */
  take(promotion: Promotion, nowMs: number): Reading | null
  /** Readings that nobody has taken, a count. */
  count(): number
}

/** Makes an empty memory. */
export function createFresh(deps: { readonly monotonicMs: () => number }): Fresh {
  const readings = new Map<string, Reading & { delivery: { token: string } }>()

  function forgetOld(): void {
    const oldestMs = deps.monotonicMs() - FRESH_MS
    // In a Map the first ones are those longest there.
    for (const [deliveryId, { readAtMs }] of readings) {
      if (readings.size <= FRESH_COUNT_MAX && readAtMs >= oldestMs) break
      readings.delete(deliveryId)
    }
  }
  return {
    add(deliveries, readAtMs) {
      for (const delivery of deliveries) {
        readings.set(delivery.deliveryId, { delivery, readAtMs })
      }
      forgetOld()
    },
    take({ deliveryId, token }, nowMs) {
      const reading = readings.get(deliveryId)
      readings.delete(deliveryId)
      if (reading === undefined || reading.delivery.token !== token) return null
      return nowMs - reading.readAtMs > FRESH_MS ? null : reading
    },
    count() {
      forgetOld()
      return readings.size
    },
  }
}
