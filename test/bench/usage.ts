import process from 'node:process'
import { serve } from '#shared/runtime.ts'

/** Seconds of CPU that a process used since it began, and what it holds in memory now. */
export type Usage = { cpuSeconds: number; memoryMiB: number }

/** Answers this process's usage on a port of its own, beside what it is measured for. */
export function serveUsage(): string {
  const server = serve({
    hostname: '127.0.0.1',
    port: 0,
    variable: 'PORT',
    fetch() {
      const { user, system } = process.cpuUsage()
      const usage: Usage = {
        cpuSeconds: (user + system) / 1e6,
        memoryMiB: process.memoryUsage().rss / 2 ** 20,
      }
      return Response.json(usage)
    },
  })
  return server.url
}

export async function readUsage(url: string): Promise<Usage> {
  return (await fetch(url)).json() as Promise<Usage>
}
