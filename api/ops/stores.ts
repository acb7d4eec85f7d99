import { hashSecret } from '#shared/crypto.ts'
import { isId } from '#shared/ids.ts'
import { storeView } from '../store-object.ts'
import { readStore } from '../stores/queries.ts'
import { resolveAccount } from './accounts.ts'
import { type Command, LIMIT_OPTION, limitOf, type OpsDeps, Refusal } from './command.ts'
import { listStoreKeys, listStores, listStoreWallets, revokeAnyKey } from './queries.ts'

/** A key as a seller may have sent it to us, leaked. */
const KEY = /^[ps]k_(test|live)_\S+$/

export const storeCommands: readonly Command[] = [
  {
    name: 'store list',
    summary: 'stores, newest first',
    options: {
      account: { value: 'account', about: 'only those of one account, by id or mail address' },
      ...LIMIT_OPTION,
    },
    async run(deps, args) {
      const { account } = args.options
      const accountId = account === undefined ? undefined : await resolveAccount(deps, account)
      return { stores: await listStores(deps.db, accountId, limitOf(args)) }
    },
  },
  {
    name: 'store show',
    summary: 'a store with its settings, keys and wallets',
    parameters: ['storeId'],
    options: LIMIT_OPTION,
    async run(deps, args) {
      const store = await findStore(deps, args.words[0])
      const limit = limitOf(args)
      const [keys, wallets] = await Promise.all([
        listStoreKeys(deps.db, store.storeId, limit),
        listStoreWallets(deps.db, store.storeId, limit),
      ])
      return { store: { ...storeView(store), accountId: store.accountId }, keys, wallets }
    },
  },
  {
    name: 'key list',
    summary: 'keys of a store, revoked ones too; secret ones masked',
    parameters: ['storeId'],
    options: LIMIT_OPTION,
    async run(deps, args) {
      const { storeId } = await findStore(deps, args.words[0])
      return { keys: await listStoreKeys(deps.db, storeId, limitOf(args)) }
    },
  },
  {
    name: 'key revoke',
    summary: 'end a key at once, named by its id or by itself',
    parameters: ['key'],
    async run({ db }, args) {
      const text = args.words[0] ?? ''
      const wanted = isId('key', text)
        ? { keyId: text }
        : KEY.test(text) && { keyHash: hashSecret(text) }
      const key = wanted && (await revokeAnyKey(db, wanted))
      // The text is not repeated: it may be somebody's secret key.
      if (!key) throw new Refusal('there is no such key that works')
      return { key }
    },
  },
]

/** Throws {@link Refusal}. */
export async function findStore({ db }: OpsDeps, storeId = '') {
  const store = isId('store', storeId) ? await readStore(db, storeId) : undefined
  if (!store) throw new Refusal(`there is no store ${storeId}`)
  return store
}
