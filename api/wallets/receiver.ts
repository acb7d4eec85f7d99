import { fail } from '#shared/errors.ts'
import { normalizeAddress, normalizeContract, parseXpub } from '#shared/networks/addresses.ts'
import { TOKENS } from '#shared/networks/names.ts'
import type { Deployment, Family } from '#shared/networks/registry.ts'
import type { PostWalletBody } from './model.ts'

/** Where a wallet's money goes: to a fixed address, or to the children of an extended public key. */
export type Receiver = { address: string; xpub: null } | { address: null; xpub: string }

/** Addresses that everybody knows and nobody has the key of. */
const NOBODYS: { [F in Family]: readonly string[] } = {
  evm: [
    '0x0000000000000000000000000000000000000000',
    '0x000000000000000000000000000000000000dEaD',
    '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
  ],
  // The system program, and the incinerator of Solana's documentation.
  solana: ['11111111111111111111111111111111', '1nc1nerator11111111111111111111111111111111'],
}

/** Texts that somebody could spend with: 32 bytes in hex, extended private keys, Solana's 64 bytes in base58. */
const PRIVATE_KEY = /^(?:(?:0x)?[0-9a-f]{64}|[xtuvyz]prv.*|[1-9A-HJ-NP-Za-km-z]{86,90})$/is

/**
 * What a new wallet receives at, in the one form it is stored in. `deployment` is the wallet's network in its mode;
 * `all` are those whose token contracts it must not be. Error: invalid_request, which never repeats what was sent.
 */
export function readReceiver(
  body: PostWalletBody,
  deployment: Deployment,
  all: Iterable<Deployment>,
): Receiver {
  const { address, xpub } = body
  if ((address === undefined) === (xpub === undefined)) {
    refuse('Send exactly one of address and xpub.', 'address')
  }
  if (xpub !== undefined) return { address: null, xpub: readXpub(xpub.trim(), deployment) }
  return { address: readAddress(address?.trim() ?? '', deployment, all), xpub: null }
}

function readXpub(text: string, { family, networkName }: Deployment): string {
  refusePrivateKey(text, 'xpub')
  if (family !== 'evm') {
    refuse(`Addresses of ${networkName} cannot be derived from an xpub. Send an address.`, 'xpub')
  }
  const parsed = parseXpub(text)
  return 'xpub' in parsed ? parsed.xpub : refuse(parsed.reason, 'xpub')
}

function readAddress(text: string, { family }: Deployment, all: Iterable<Deployment>): string {
  refusePrivateKey(text, 'address')
  if (text.startsWith('xpub')) refuse('Send an extended public key as xpub.', 'address')
  const address = normalizeAddress(family, text)
  if (address === undefined) refuse(explain(family, text), 'address')
  if (NOBODYS[family].includes(address)) {
    refuse('Nobody has the key of this address: what is sent there is lost.', 'address')
  }
  if (isTokenContract(family, address, all)) {
    refuse(
      'This is the address of a token, not of a wallet: what is sent there is lost.',
      'address',
    )
  }
  return address
}

/** Networks share addresses, so a token of any of them is refused on all. */
function isTokenContract(family: Family, address: string, all: Iterable<Deployment>): boolean {
  for (const one of all) {
    if (one.family !== family) continue
    for (const token of TOKENS) {
      const contract = one.tokens[token]?.contract
      if (contract !== undefined && normalizeContract(family, contract) === address) return true
    }
  }
  return false
}

function explain(family: Family, text: string): string {
  if (family === 'evm') {
    return /^0x[0-9a-f]{40}$/i.test(text)
      ? 'The checksum of this address is wrong: a character was mistyped. Copy it again.'
      : 'This should be an address: 0x and 40 hexadecimal digits.'
  }
  return normalizeContract(family, text) === undefined
    ? 'This should be a Solana address: base58 of 32 bytes.'
    : 'This is a token account or a program, not a wallet. Send the address of the token account’s owner.'
}

function refusePrivateKey(text: string, param: string): void {
  if (!PRIVATE_KEY.test(text)) return
  refuse(
    'This looks like a private key: whoever reads it can spend. It was not stored. Move the funds, and send the public address or xpub.',
    param,
  )
}

function refuse(message: string, param: string): never {
  return fail('invalid_request', { message, param })
}
