import { randomInt } from 'node:crypto'
import process from 'node:process'
import { Elysia } from 'elysia'
import { openDb } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { serve } from '#shared/runtime.ts'
import { serveUsage } from './usage.ts'

/**
 * What a route costs that checks nothing: one insert of the rows that a checkout makes, and one select by primary key.
 * Same driver, same pool, same runtime. Prints where it and its usage are found.
 */
const db = openDb({ url: process.argv[2] ?? '', applicationName: 'bench-bare' })

type Body = { storeId: string; accountId: string; address: string; network: string; token: string }

const app = new Elysia()
  .post('/checkout', async ({ body, set }) => {
    const { storeId, accountId, address, network, token } = body as Body
    const paymentId = newId('pay')
    const amount = BigInt(5_000_000 + randomInt(1, 1_000_000_000))
    const rows = await db`
      with slot as (
        insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
          is_exclusive, client_ip, expires_at)
        values (${address}, ${amount}, ${token}, 'base:test', ${paymentId}, ${storeId}, 5000000, false, '11.0.0.1',
          service_now() + interval '1 hour')
      )
      insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals,
        address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units,
        expires_at)
      values (${paymentId}, ${storeId}, ${accountId}, 'test', ${network}, ${token}, 'base:test', 'contract', 6,
        ${address}, false, 'CHAIN', 12, 500, 5000000, ${amount}, service_now() + interval '1 hour')
      returning payment_id, status, mode, network, token, address, contract, decimals, amount_cents, created_at,
        expires_at`
    set.status = 201
    return { ...rows[0] }
  })
  .get('/payments/:id', async ({ params }) => {
    const rows = await db`
      select payment_id, status, mode, network, token, address, contract, decimals, amount_cents, tx_hash,
        created_at, expires_at
      from payments where payment_id = ${params.id}`
    return { ...rows[0] }
  })

const server = serve({
  fetch: (request) => app.fetch(request),
  hostname: '127.0.0.1',
  port: 0,
  variable: 'PORT',
})
process.stdout.write(`${JSON.stringify({ url: server.url, usageUrl: serveUsage() })}\n`)
