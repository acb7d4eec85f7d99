import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { isId } from '#shared/ids.ts'
import { noticeCredits } from '#shared/payments/notice.ts'
import { lockPayments } from '#shared/payments/queries.ts'
import { announcePayments } from '#shared/wake.ts'
import {
  type Answer,
  type Arguments,
  type Command,
  LIMIT_OPTION,
  limitOf,
  type OpsDeps,
  Refusal,
  UsageError,
} from './command.ts'

export const transferCommands: readonly Command[] = [
  {
    name: 'transfer held',
    summary: 'transfers that do not count because readings of their block differ, oldest first',
    options: LIMIT_OPTION,
    run: listHeld,
  },
  {
    name: 'transfer count',
    summary: 'let a held transfer count: a block explorer shows it in its block',
    parameters: ['transferId'],
    run: countHeld,
  },
  {
    name: 'transfer drop',
    summary: 'take a held transfer back: no block explorer shows it in its block',
    parameters: ['transferId'],
    run: dropHeld,
  },
]

type HeldRow = {
  transferId: string
  paymentId: string | null
  deployment: string
  blockNumber: number
  isFinal: boolean
}

async function listHeld({ db, config, note }: OpsDeps, args: Arguments): Promise<Answer> {
  const rows = await db<(HeldRow & { txHash: string })[]>`
    select t.transfer_id, t.deployment, t.block_number, t.block_hash, t.tx_hash, t.address, t.token,
      t.amount_base_units::text as amount_base_units, t.payment_id, p.status as payment_status,
      t.is_final, t.seen_at
    from transfers t
    left join payments p on p.payment_id = t.payment_id
    where t.is_held
    order by t.deployment, t.block_number
    limit ${limitOf(args)}`
  if (rows.length > 0) {
    note(
      'Look each up in a block explorer. In its block: transfer count. Not there: transfer drop. A provider that was wrong ' +
        'does not belong into rpc.',
    )
  }
  return {
    transfers: rows.map((row) => ({
      ...row,
      explorerUrl:
        config.deployments.get(row.deployment)?.explorerTxUrl?.replace('{txHash}', row.txHash) ??
        null,
    })),
  }
}

/** What reached depth by it is settled with the next second reading, a few seconds on while blocks come. */
async function countHeld({ db, note }: OpsDeps, args: Arguments): Promise<Answer> {
  const transfer = await withTransaction(db, async (tx) => {
    const { transferId } = await lockHeld(db, tx, args.words[0] ?? '')
    const [row] = await tx`
      update transfers set is_held = false where transfer_id = ${transferId}
      returning transfer_id, deployment, block_number, state, payment_id, is_held`
    return row
  })
  note('It is settled when the indexer reads blocks the second time again.')
  return { transfer }
}

async function dropHeld(deps: OpsDeps, args: Arguments): Promise<Answer> {
  const { db, keyring, config } = deps
  if (!keyring) throw new UsageError('transfer drop needs ENCRYPTION_KEY')
  const { transfer, moved } = await withTransaction(db, async (tx) => {
    const { transferId, paymentId, isFinal } = await lockHeld(db, tx, args.words[0] ?? '')
    if (isFinal) {
      throw new Refusal(
        `${transferId} settled ${paymentId}, which is never taken back: tell the seller`,
      )
    }
    const ids = paymentId ? [paymentId] : []
    const locked = await lockPayments(tx, ids)
    const [row] = await tx`
      update transfers set state = 'RETRACTED', is_held = false
      where transfer_id = ${transferId}
      returning transfer_id, deployment, block_number, state, payment_id, is_held`
    const settings = {
      quarantineHours: config.slotQuarantineHours,
      subscriptions: { publicUrl: config.publicUrl, keyring },
    }
    const changed = await noticeCredits(tx, locked, ids, null, settings)
    return { transfer: row, moved: changed }
  })
  if (moved.length > 0) await announcePayments(db, moved)
  return { transfer }
}

/** The transfer, its payment locked before it as everybody does. Throws {@link Refusal} when it is not held. */
async function lockHeld(db: Db, tx: Tx, transferId: string): Promise<HeldRow> {
  const find = (sql: Db | Tx, lock = sql``) => sql<HeldRow[]>`
    select transfer_id, payment_id, deployment, block_number, is_final
    from transfers
    where transfer_id = ${isId('trf', transferId) ? transferId : ''} and is_held and state <> 'RETRACTED'
    ${lock}`
  const [seen] = await find(db)
  if (seen?.paymentId) await lockPayments(tx, [seen.paymentId])
  const [row] = await find(tx, tx`for update`)
  if (!row) throw new Refusal(`${transferId} is no held transfer: see transfer held`)
  if (row.paymentId !== seen?.paymentId) {
    throw new Refusal(`${transferId} was attached to a payment just now: try again`)
  }
  return row
}
