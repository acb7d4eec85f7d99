import { METRICS_CONTENT_TYPE } from '#shared/metrics.ts'
import { type RunningServer, serve } from '#shared/runtime.ts'

/**
 * Serves `METRICS_PORT`: `/healthz` (the process lives), `/readyz` (it is at work and reaches Postgres;
 * 503 otherwise) and `/metrics`. On `HOST`, as the API: it tells numbers, never names.
 */
export function serveHealth(
  { host, port }: { host: string; port: number },
  of: { readonly isReady: () => boolean; readonly renderMetrics: () => string },
): RunningServer {
  return serve({
    hostname: host,
    port,
    variable: 'METRICS_PORT',
    fetch(request) {
      switch (new URL(request.url).pathname) {
        case '/healthz':
          return Response.json({ status: 'OK' })
        case '/readyz': {
          const isReady = of.isReady()
          return Response.json(
            { status: isReady ? 'OK' : 'UNAVAILABLE' },
            { status: isReady ? 200 : 503 },
          )
        }
        case '/metrics':
          return new Response(of.renderMetrics(), {
            headers: { 'content-type': METRICS_CONTENT_TYPE },
          })
        default:
          return new Response(null, { status: 404 })
      }
    },
  })
}
