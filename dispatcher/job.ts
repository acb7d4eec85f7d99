import type { Bundle, Promotion } from './queue.ts'

/** A promoted delivery in the hands of this process, and the job of the queue it came with. */
export type Job = Promotion & { readonly bundle: Bundle }

/** The deliveries of bundles, one by one. */
export function unpack(bundles: readonly Bundle[]): Job[] {
  return bundles.flatMap((bundle) =>
    bundle.deliveryIds.map((deliveryId) => ({ deliveryId, token: bundle.token, bundle })),
  )
}

/** Counts deliveries whose end is written down, until nothing of a bundle is left to wait for. */
export type Tally = {
  /** The bundles of which nothing is left, once these are written down. */
  ended(jobs: readonly Job[]): Bundle[]
  /** These are written down. */
  count(jobs: readonly Job[]): void
}

/** Makes a tally; bundles nobody holds any more are forgotten by themselves. */
export function createTally(): Tally {
  const written = new WeakMap<Bundle, number>()
  const sum = (jobs: readonly Job[]) => {
    const sums = new Map<Bundle, number>()
    for (const { bundle } of jobs) {
      sums.set(bundle, (sums.get(bundle) ?? written.get(bundle) ?? 0) + 1)
    }
    return sums
  }
  return {
    ended: (jobs) =>
      [...sum(jobs)].flatMap(([bundle, count]) =>
        count === bundle.deliveryIds.length ? bundle : [],
      ),
    count(jobs) {
      for (const [bundle, count] of sum(jobs)) written.set(bundle, count)
    },
  }
}
