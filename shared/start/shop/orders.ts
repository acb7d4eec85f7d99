/** What the seller knows of each order: the webhooks alone decide it, never what a browser says. */

export type Received = {
  /** Counts up from 1, for the page to tell what it has. */
  number: number
  at: string
  eventId: string
  type: string
  paymentId: string | null
  verdict: string
  isGenuine: boolean
  /** The same event came before: acknowledged, and not acted upon again. */
  isRepeated: boolean
  body: string
}

export type Orders = {
  /** Takes a delivery; answers it with what the seller made of it. */
  receive(delivery: Omit<Received, 'number' | 'isRepeated'>): Received
  /** All that is kept, oldest first. */
  list(): readonly Received[]
  /** Calls back for each delivery from now on; answers how to end that. */
  watch(onReceived: (received: Received) => void): () => void
}

/** Deliveries kept for the page. */
const RECEIVED_MAX = 200
/** Ids remembered to notice a repeated delivery. */
const IDS_MAX = 10_000

export function createOrders(): Orders {
  const received: Received[] = []
  const ids = new Set<string>()
  const watchers = new Set<(received: Received) => void>()
  let count = 0
  return {
    receive(delivery) {
      count += 1
      const isRepeated = ids.has(delivery.eventId)
      if (delivery.isGenuine) {
        ids.add(delivery.eventId)
        const [oldest] = ids
        if (ids.size > IDS_MAX && oldest !== undefined) ids.delete(oldest)
      }
      const entry = { ...delivery, number: count, isRepeated }
      received.push(entry)
      if (received.length > RECEIVED_MAX) received.shift()
      for (const tell of watchers) tell(entry)
      return entry
    },
    list: () => received,
    watch(onReceived) {
      watchers.add(onReceived)
      return () => watchers.delete(onReceived)
    },
  }
}
