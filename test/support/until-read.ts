import type { Db } from '#shared/db.ts'
import { until } from './until.ts'

/**
 * Waits until every deployment where somebody was asked to pay stands on the head of this EVM chain, and all that is at depth
 * was read twice and settled; the others are looked at more rarely.
 */
export async function untilRead(db: Db, httpUrl: string, timeoutMs: number): Promise<void> {
  await until(
    async () => {
      const head = await readHead(httpUrl)
      const [row] = await db<{ isRead: boolean | null }[]>`
        select bool_and(block_number >= ${head} and audited_number > block_number - confirmations) as is_read
        from deployments d
        where exists (select from slots s where s.deployment = d.deployment)`
      return row?.isRead
    },
    { what: 'the chain is read', timeoutMs },
  )
}

async function readHead(httpUrl: string): Promise<number> {
  const response = await fetch(httpUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
  })
  return Number(((await response.json()) as { result: string }).result)
}
