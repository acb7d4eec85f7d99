import { startPostgres } from '#shared/start/postgres.ts'
import { migrate } from '#shared/migrate.ts'
import { openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { newId } from '#shared/ids.ts'
import { seedStore } from '../support/seed.ts'
import { testConfig } from '../support/api.ts'
import { startApi } from '../../api/start.ts'
import { hashSecret } from '#shared/crypto.ts'
import { beginCheckout, claimCheckout } from '../../api/checkout/queries.ts'
const pg = await startPostgres({ dataDirectory: '/tmp/a/pgb-'+process.pid, log: silentLog, durable: true, temporary: true })
await migrate(pg.url, { log: silentLog })
const db = openDb({ url: pg.url, applicationName: 'bench', poolSizeMax: 10 })
const stores: any[] = []; for (let i = 0; i < 200; i++) stores.push(await seedStore(db))
const config = testConfig(pg.url, { config: { trustedProxies: new (await import('node:net')).BlockList() } })
const api = startApi({ config, db, log: silentLog }); await api.ready
const req = (i: number): any => { const s = stores[i % 200]; return { keyHash: hashSecret(s.keys.test.publishable), originHosts: null, priceId: s.price.priceId, paymentLinkId: null, sessionId: null, amountCents: null, networkCode: null, ttlMinutes: 60, clientIp: 'ip' + i, planCaps: config.planCapsUsd, openPaymentsPerIp: 100, draft: { payment_id: newId('pay'), network: 'base', token: 'usdc', deployment: 'base:test', contract: '0xc', decimals: 6, clock: 'CHAIN', confirmations_required: 12, reference_key: null, metadata: null, origin_host: null, buyer_email: null } } }
let n = 0
async function time(name: string, fn: (i: number) => Promise<unknown>) {
  for (const rounds of [1, 3]) { const N = 2000 * rounds; let i = 0; const lat: number[] = []; const c0 = process.cpuUsage(); const t = performance.now()
  await Promise.all(Array.from({ length: 64 }, async () => { while (i < N) { i++; const t0 = performance.now(); await fn(n++); lat.push(performance.now() - t0) } }))
  const c = process.cpuUsage(c0); lat.sort((a, b) => a - b); if (rounds > 1) console.log(name.padEnd(30), Math.round(N / (performance.now() - t) * 1000), '/s', 'cpu us/op', ((c.user + c.system) / N).toFixed(0), 'p50', lat[lat.length >> 1]!.toFixed(1), 'p99', lat[Math.floor(lat.length * .99)]!.toFixed(1)) } }
for (let k = 0; k < 2; k++) {
await time('begin_checkout', (i) => beginCheckout(db, { rateKey: 'ip' + i, limit: 1e6 }, req(i)))
await time('claim_checkout', (i) => claimCheckout(db, req(i)))
await time('count_request', (i) => db`select * from count_request(${'ip' + i}, 60)`)
await time('app.fetch', async (i) => { const s = stores[i % 200]; return (await api.app.fetch(new Request('http://localhost/v1/checkout', { method: 'POST', headers: { 'content-type': 'application/json', 'content-length': '300' }, body: JSON.stringify({ publishableKey: s.keys.test.publishable, priceId: s.price.priceId, network: 'base', token: 'usdc' }) }), '2001:db8:' + (i >> 16).toString(16) + ':' + (i & 65535).toString(16) + '::1')).text() })
await time('bare tx', async (i) => { const id = newId('pay'); const s = stores[i % 200]; const amount = 10500000n + BigInt(i) * 100000n; const exp = new Date(Date.now() + 3600000)
    await db.begin(async (tx) => {
      await tx`insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units, is_exclusive, client_ip, expires_at) values (${s.wallets[0]!.address!}, ${amount}, 'usdc', 'base:test', ${id}, ${s.store.storeId}, 10500000, false, '1.2.3.4', ${exp})`
      await tx`insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals, address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units, expires_at) values (${id}, ${s.store.storeId}, ${s.account.accountId}, 'test','base','usdc','base:test','0xc',6,${s.wallets[0]!.address!}, false,'CHAIN',12,1050,10500000,${amount},${exp})`
    }) })
}
await api.stop(); await db.end({ timeout: 1 }); await pg.stop(); process.exit(0)
