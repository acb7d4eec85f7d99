import { formatUnits } from '#shared/money.ts'
import { explorerTxLink } from '#shared/networks/registry.ts'
import { isPaid } from '#shared/payments/machine.ts'
import { type PaymentObject, paymentView, type ViewContext } from '#shared/payments/view.ts'
import type { PayPageRow } from './queries.ts'

/** The page's state: a payment's status, and the pause between its window's end and the chain's word on it. */
export type PageState = PaymentObject['status'] | 'WINDOW_OVER'

/** What the page's parts are made from. */
export type PayFacts = {
  row: PayPageRow
  payment: PaymentObject
  state: PageState
  /** Whether the page still waits for something. */
  isLive: boolean
  /** `10.504821`: to the last digit that is not a zero, with cents at least. */
  due: string
  received: string
  /** `USDC` */
  token: string
  /** `BNB Chain` */
  network: string
  /** Milliseconds until the window closes, never below 0. */
  leftMs: number
  explorerUrl: string | undefined
  /** Where the seller's session sends the buyer; only to the web, whatever is stored. */
  successUrl: string | undefined
  cancelUrl: string | undefined
  /** Path of the page on which another network or token can be chosen. */
  choosePath: string | undefined
}

export function factsOf(row: PayPageRow, context: ViewContext): PayFacts {
  const payment = paymentView(row, context)
  const deployment = context.deployments.get(row.deployment)
  const leftMs = Math.max(0, row.expiresAt.getTime() - row.now.getTime())
  const state = row.status === 'PENDING' && leftMs === 0 ? 'WINDOW_OVER' : row.status
  const hasLink = row.txHash !== null && !row.isSimulated && deployment !== undefined
  return {
    ...{ row, payment, state, leftMs },
    isLive: row.status === 'PENDING' || row.status === 'DETECTED',
    due: amountText(row.amountBaseUnits, row.decimals),
    received: amountText(row.receivedBaseUnits, row.decimals),
    token: row.token.toUpperCase(),
    network: deployment?.networkName ?? row.network,
    explorerUrl: hasLink ? explorerTxLink(deployment, row.txHash ?? '') : undefined,
    successUrl: webUrl(row.successUrl),
    cancelUrl: webUrl(row.cancelUrl),
    choosePath: choosePathOf(row),
  }
}

/** An exact amount without the zeros that say nothing: `"10.504821"`, `"10.50"`. */
export function amountText(amountBaseUnits: bigint, decimals: number): string {
  const [whole, fraction = ''] = formatUnits(amountBaseUnits, decimals).split('.')
  return `${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`
}

/** The URL when a link may lead there: `javascript:` and its like may not. */
export function webUrl(text: string | null): string | undefined {
  const url = text === null ? null : URL.parse(text)
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined
}

function choosePathOf(row: PayPageRow): string | undefined {
  if (!row.isRepeatable || isPaid(row.status)) return undefined
  if (row.sessionId !== null) return `/c/${row.sessionId}`
  return row.paymentLinkId === null ? undefined : `/l/${row.paymentLinkId}`
}
