import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { EventObject, EventsQuery } from './model.ts'
import { showEvents } from './service.ts'

export const getEvents = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/events',
  auth: 'store',
  summary: 'List every event emitted, newest first; with `after`, oldest first from a sequence on',
  schemas: { query: EventsQuery },
  response: pageSchema(EventObject),
  handle: (deps, { caller, query }) => showEvents(deps, caller, query),
})
