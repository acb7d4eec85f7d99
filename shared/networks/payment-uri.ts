import { never } from '#shared/assert.ts'
import { formatUnits } from '#shared/money.ts'
import type { Deployment, TokenContract } from './registry.ts'

/** What a payment link asks a wallet to send. */
export type PaymentRequest = {
  deployment: Deployment
  token: TokenContract
  /** The receiving address: EIP-55 on EVM, the owner (not a token account) on Solana. */
  payTo: string
  amountBaseUnits: bigint
  /** Solana: a key the wallet adds to the transaction, by which the transfer names its payment. */
  reference?: string
}

/**
 * The link that opens a wallet with this payment filled in: EIP-681 on EVM chains, a Solana Pay
 * transfer request on Solana. Wallets differ in what they make of it, so it is offered beside the plain
 * address and never instead of it.
 */
export function paymentUri(request: PaymentRequest): string {
  const { deployment } = request
  switch (deployment.family) {
    case 'evm':
      return evmUri(deployment.chainId, request)
    case 'solana':
      return solanaUri(request)
    default:
      return never(deployment)
  }
}

/** `ethereum:<contract>@<chainId>/transfer?address=<payTo>&uint256=<base units>` (eips.ethereum.org/EIPS/eip-681). */
function evmUri(chainId: number, { token, payTo, amountBaseUnits }: PaymentRequest): string {
  return `ethereum:${token.contract}@${chainId}/transfer?address=${payTo}&uint256=${amountBaseUnits}`
}

/**
 * `solana:<owner>?amount=<decimal>&spl-token=<mint>&reference=<key>` (docs.solanapay.com/spec). The
 * amount is in whole tokens; the wallet finds the owner's token account itself.
 */
function solanaUri({ token, payTo, amountBaseUnits, reference }: PaymentRequest): string {
  const amount = formatUnits(amountBaseUnits, token.decimals)
  const uri = `solana:${payTo}?amount=${amount}&spl-token=${token.contract}`
  return reference === undefined ? uri : `${uri}&reference=${reference}`
}
