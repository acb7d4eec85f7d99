import { type Static, Type } from '@sinclair/typebox'
import { PAGE_QUERY } from '../pagination.ts'
import { ModeWord, Time } from '../words.ts'
import type { WalletRow } from './queries.ts'

/** Characters that are looked at of an address, a key or a network's name. */
const TEXT_LENGTH_MAX = 200
const closed = { additionalProperties: false }
const Text = Type.String({ maxLength: TEXT_LENGTH_MAX })

export const WalletsQuery = Type.Object({ ...PAGE_QUERY, mode: Type.Optional(ModeWord) }, closed)

/** Exactly one of `address` and `xpub`. */
export const PostWalletBody = Type.Object(
  { network: Text, address: Type.Optional(Text), xpub: Type.Optional(Text) },
  closed,
)
export type PostWalletBody = Static<typeof PostWalletBody>

export const WalletObject = Type.Object({
  walletId: Type.String(),
  mode: ModeWord,
  network: Type.String(),
  address: Type.Optional(Type.String({ description: 'EIP-55 on EVM networks' })),
  xpub: Type.Optional(
    Type.String({
      description:
        'In its one canonical form: depth, parent and child number, which say nothing of its addresses, are zero',
    }),
  ),
  createdAt: Time,
})

export function walletView(row: WalletRow): Static<typeof WalletObject> {
  return {
    walletId: row.walletId,
    mode: row.mode,
    network: row.network,
    ...(row.address === null ? {} : { address: row.address }),
    ...(row.xpub === null ? {} : { xpub: row.xpub }),
    createdAt: row.createdAt.toISOString(),
  }
}
