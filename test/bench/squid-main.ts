import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { column } from '#shared/db/columns.ts'
import { openDb, type Tx, withTransaction } from '#shared/db.ts'
import { newId, newOrderKey } from '#shared/ids.ts'

/**
 * `squid-main.ts <folder> <database URL> <RPC URL> <token> <last block>`: an indexer made of @subsquid/evm-processor, as its
 * documentation shows one, with a sink that stores the rows that ours stores: transfer, inbox, payment, move, event and
 * cursor, many at a time in one transaction for each batch, sent as columns like ours. It knows the recipients beforehand and
 * filters by them. Payments it looks up by address and amount, a query for a batch: checkouts make them while it runs, so that
 * no memory has them all. It does not do what ours does besides: look who else may be meant, lock, read a second time.
 * Prints `{"seconds"}` when the last block is committed, and nothing else.
 */
const [folder = '', databaseUrl = '', rpcUrl = '', token = '', lastBlock = ''] =
  process.argv.slice(2)

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const ROWS_MAX = 1_000

type Payment = {
  paymentId: string
  storeId: string
  accountId: string
  deployment: string
  network: string
  mode: string
  token: string
  contract: string
  decimals: number
  address: string
  amountBaseUnits: bigint
}
type Head = { height: number; hash: string }
type SquidLog = { logIndex: number; topics: string[]; data: string; transactionHash: string }
type SquidBlock = { header: Head & { timestamp: number }; logs: SquidLog[] }
/** The part of the package that is used: it is not a dependency, so its own types are not there. */
type Squid = {
  EvmBatchProcessor: new () => Processor
}
type Processor = {
  setRpcEndpoint(url: string): Processor
  setFinalityConfirmation(blocks: number): Processor
  setBlockRange(range: { from: number; to: number }): Processor
  setFields(fields: object): Processor
  addLog(request: object): Processor
  run(database: object, handler: (context: { store: Tx; blocks: SquidBlock[] }) => unknown): void
}

const db = openDb({ url: databaseUrl, applicationName: 'bench-squid' })
const recipients = await db<{ address: string }[]>`select distinct address from payments`
const addressOf = new Map(recipients.map(({ address }) => [wordOf(address), address]))
const entry = join(folder, 'node_modules', '@subsquid', 'evm-processor', 'lib', 'index.js')
// Its log goes to the terminal that the table is printed on.
process.env['SQD_ERROR'] = '*'
const { EvmBatchProcessor } = (await import(pathToFileURL(entry).href)) as Squid

let head: Head = { height: -1, hash: '0x' }
const startedAt = performance.now()
const database = {
  connect: async () => head,
  async transact({ nextHead }: { nextHead: Head }, write: (store: Tx) => Promise<void>) {
    await withTransaction(db, async (tx) => {
      await write(tx)
      await tx`
        update deployments set block_number = ${nextHead.height}, block_hash = ${nextHead.hash}`
    })
    head = nextHead
    if (head.height < Number(lastBlock)) return
    const seconds = (performance.now() - startedAt) / 1_000
    process.stdout.write(`${JSON.stringify({ seconds })}\n`)
  },
}
new EvmBatchProcessor()
  .setRpcEndpoint(rpcUrl)
  .setFinalityConfirmation(0)
  .setBlockRange({ from: 0, to: Number(lastBlock) })
  .setFields({ log: { topics: true, data: true, transactionHash: true } })
  .addLog({
    address: [token],
    topic0: [TRANSFER_TOPIC],
    topic2: [...addressOf.keys()],
  })
  .run(database, async ({ store, blocks }) => {
    const found = await findPayments(
      store,
      blocks.flatMap(({ logs }) => logs),
    )
    const seen = blocks.flatMap(({ header, logs }) => {
      return logs.flatMap((log) => {
        const payment = found.get(termsOf(log))
        return payment ? [toRows(header, log, payment)] : []
      })
    })
    for (let start = 0; start < seen.length; start += ROWS_MAX) {
      await insert(store, seen.slice(start, start + ROWS_MAX))
    }
  })

/** The payments that these are for, by recipient and amount as a log says them. */
async function findPayments(tx: Tx, logs: readonly SquidLog[]): Promise<Map<string, Payment>> {
  const found = new Map<string, Payment>()
  for (let start = 0; start < logs.length; start += ROWS_MAX) {
    const part = logs.slice(start, start + ROWS_MAX)
    const rows = await tx<Payment[]>`
      select p.payment_id, p.store_id, p.account_id, p.deployment, p.network, p.mode, p.token, p.contract, p.decimals,
        p.address, p.amount_base_units
      from unnest(
        ${column(part.map(({ topics }) => addressOf.get(topics[2] ?? '') ?? ''))}::text[],
        ${column(part.map(({ data }) => BigInt(data).toString()))}::numeric[]
      ) g (address, amount)
      join slots s on s.address = g.address and s.amount_base_units = g.amount
      join payments p on p.payment_id = s.payment_id`
    for (const row of rows) found.set(`${wordOf(row.address)} ${row.amountBaseUnits}`, row)
  }
  return found
}

function termsOf({ topics, data }: SquidLog): string {
  return `${topics[2]} ${BigInt(data)}`
}

type Rows = ReturnType<typeof toRows>

function toRows(header: SquidBlock['header'], log: SquidLog, payment: Payment) {
  const at = new Date(header.timestamp).toISOString()
  const { paymentId: payment_id, storeId: store_id, accountId: account_id, mode } = payment
  const transfer_id = newId('trf')
  const { deployment, network, token: name, contract, decimals, address } = payment
  const amount = payment.amountBaseUnits.toString()
  const eventId = `${payment_id}:payment.detected`
  const data = {
    ...{
      paymentId: payment_id,
      accountId: account_id,
      storeId: store_id,
      mode,
      network,
      token: name,
    },
    ...{ address, amount: '10.00', amountBaseUnits: amount, decimals, status: 'DETECTED' },
    ...{ txHash: log.transactionHash, blockNumber: header.height, confirmations: 1 },
  }
  const body = { id: eventId, type: 'payment.detected', createdAt: at, apiVersion: '1', data }
  return {
    transfer: {
      ...{ transfer_id, deployment, network, mode, block_hash: header.hash, token: name, contract },
      ...{ tx_hash: log.transactionHash, log_index: log.logIndex, block_number: header.height },
      ...{ block_time: at, decimals, sender: `0x${log.topics[1]?.slice(26)}`, address, payment_id },
      ...{ amount_base_units: amount, state: 'MATCHED', rule: 'exact' },
    },
    listed: { store_id, transfer_id, state: 'MATCHED', mode },
    moved: {
      ...{ payment_id, move_key: newOrderKey(), from_status: 'PENDING', to_status: 'DETECTED' },
      ...{ trigger: 'transferSeen', at, tx_hash: log.transactionHash, block_number: header.height },
      received: amount,
    },
    event: {
      ...{ event_id: eventId, order_key: newOrderKey(), store_id, account_id, mode, payment_id },
      ...{ type: 'payment.detected', body: JSON.stringify(body), created_at: at },
    },
  }
}

async function insert(tx: Tx, rows: readonly Rows[]): Promise<void> {
  const of = (pick: (row: Rows) => string | number) => column(rows.map(pick))
  const sent = <T>(pick: (row: Rows) => T, name: keyof T) => of((row) => pick(row)[name] as string)
  await insertTransfers(tx, (name) => sent(({ transfer }) => transfer, name))
  await tx`
    insert into inbox (store_id, mode, transfer_id, state)
    select * from unnest(
      ${of(({ listed }) => listed.store_id)}::text[], ${of(({ listed }) => listed.mode)}::text[],
      ${of(({ listed }) => listed.transfer_id)}::text[], ${of(({ listed }) => listed.state)}::text[]
    )
    on conflict do nothing`
  await insertMoves(tx, (name) => sent(({ moved }) => moved, name))
  const event = (name: keyof Rows['event']) => sent((row) => row.event, name)
  await tx`
    insert into events (event_id, order_key, store_id, account_id, mode, payment_id, type, body, created_at)
    select * from unnest(
      ${event('event_id')}::text[], ${event('order_key')}::text[], ${event('store_id')}::text[],
      ${event('account_id')}::text[], ${event('mode')}::text[], ${event('payment_id')}::text[],
      ${event('type')}::text[], ${event('body')}::text[], ${event('created_at')}::timestamptz[]
    )
    on conflict do nothing`
}

async function insertTransfers(tx: Tx, of: (name: keyof Rows['transfer']) => string) {
  await tx`
    insert into transfers (transfer_id, deployment, network, mode, block_hash, tx_hash, log_index,
      block_number, block_time, token, contract, decimals, sender, address, amount_base_units, state,
      payment_id, rule)
    select * from unnest(
      ${of('transfer_id')}::text[], ${of('deployment')}::text[], ${of('network')}::text[],
      ${of('mode')}::text[], ${of('block_hash')}::text[], ${of('tx_hash')}::text[],
      ${of('log_index')}::integer[], ${of('block_number')}::bigint[], ${of('block_time')}::timestamptz[],
      ${of('token')}::text[], ${of('contract')}::text[], ${of('decimals')}::integer[],
      ${of('sender')}::text[], ${of('address')}::text[], ${of('amount_base_units')}::numeric[],
      ${of('state')}::text[], ${of('payment_id')}::text[], ${of('rule')}::text[]
    )
    on conflict do nothing`
}

async function insertMoves(tx: Tx, of: (name: keyof Rows['moved']) => string) {
  await tx`
    update payments p set
      status = 'DETECTED', tx_hash = g.tx_hash, block_number = g.block_number,
      received_base_units = g.received, detected_at = g.at
    from unnest(
      ${of('payment_id')}::text[], ${of('tx_hash')}::text[], ${of('block_number')}::bigint[],
      ${of('received')}::numeric[], ${of('at')}::timestamptz[]
    ) g (payment_id, tx_hash, block_number, received, at)
    where p.payment_id = g.payment_id`
  await tx`
    insert into payment_moves (payment_id, move_key, from_status, to_status, trigger, at)
    select * from unnest(
      ${of('payment_id')}::text[], ${of('move_key')}::text[], ${of('from_status')}::text[],
      ${of('to_status')}::text[], ${of('trigger')}::text[], ${of('at')}::timestamptz[]
    )
    on conflict do nothing`
}

/** An address as a topic says it. */
function wordOf(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}
