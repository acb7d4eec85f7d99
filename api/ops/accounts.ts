import { randomBytes } from 'node:crypto'
import { PLANS } from '#shared/config-plans.ts'
import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import { announceMail } from '#shared/mail-requests.ts'
import { mailLink } from '../accounts/mailed-link.ts'
import { ACCOUNT_STATUSES, accountView } from '../accounts/model.ts'
import { markEmailVerified, readAccount } from '../accounts/queries.ts'
import { openAccount, passwords, readEmail, refuseWeakPassword } from '../accounts/service.ts'
import { keyView, storeView } from '../store-object.ts'
import {
  type Answer,
  type Arguments,
  type Command,
  LIMIT_OPTION,
  limitOf,
  need,
  type OpsDeps,
  oneWordOf,
  Refusal,
  UsageError,
} from './command.ts'
import {
  type AccountStatus,
  findAccountId,
  listAccounts,
  listStores,
  setAccountPlan,
  setAccountStatus,
} from './queries.ts'

/** Of a password that is made up: 192 bits. */
const PASSWORD_BYTES = 24
/** Stores that are named with an account. */
const STORES_SHOWN_MAX = 100

export const accountCommands: readonly Command[] = [
  {
    name: 'account create',
    summary: 'sign a seller up, whatever SIGNUP says; prints its keys, this once',
    options: {
      email: { value: 'address', about: 'what the seller logs in with' },
      name: { value: 'text', about: 'what buyers see' },
    },
    flags: {
      verified: 'the address is known to be the seller’s: no mail asks for it',
      'password-stdin': 'read the password from the input; else one is made up and printed',
    },
    run: createAccount,
  },
  {
    name: 'account show',
    summary: 'an account with its plan, what it received this month, and its stores',
    parameters: ['account'],
    run: (deps, args) => showAccount(deps, args),
  },
  {
    name: 'account list',
    summary: 'accounts, newest first',
    options: {
      status: { value: ACCOUNT_STATUSES.join('|'), about: 'only these' },
      ...LIMIT_OPTION,
    },
    async run({ db }, args) {
      const status = oneWordOf(ACCOUNT_STATUSES, args.options['status'], '--status')
      return { accounts: await listAccounts(db, status, limitOf(args)) }
    },
  },
  move('suspend', 'SUSPENDED', 'refuse its live keys until it is restored; open payments settle'),
  move('ban', 'BANNED', 'refuse its live keys for good; open payments settle'),
  move('restore', 'ACTIVE', 'end a suspension or a ban'),
  {
    name: 'account verify',
    summary: 'take the mail address for verified',
    parameters: ['account'],
    run: (deps, args) =>
      change(deps, args, async (accountId) => {
        await withTransaction(deps.db, (tx) => markEmailVerified(tx, accountId))
      }),
  },
  {
    name: 'account plan',
    summary: `put an account on a plan: ${PLANS.join(', ')}`,
    parameters: ['account', 'plan'],
    run(deps, args) {
      const plan = oneWordOf(PLANS, args.words[1], 'the plan')
      if (plan === undefined) throw new UsageError('the plan is missing')
      return change(deps, args, (accountId) => setAccountPlan(deps.db, accountId, plan))
    },
  },
]

/** The account's id, of an id or a mail address. Throws {@link Refusal}. */
export async function resolveAccount({ db }: OpsDeps, text: string): Promise<string> {
  const address = parseMailAddress(text)
  const wanted = isId('acct', text) ? { accountId: text } : address && { email: address }
  const found = wanted && (await findAccountId(db, wanted))
  if (!found) throw new Refusal(`there is no account ${text}: name one by its id or mail address`)
  return found
}

async function createAccount(deps: OpsDeps, args: Arguments): Promise<Answer> {
  const { db, keyring } = deps
  const email = readEmail(need(args, 'email'))
  const isVerified = args.flags.has('verified')
  if (!isVerified && keyring === undefined) {
    throw new UsageError('ENCRYPTION_KEY is needed for the verification mail; or pass --verified')
  }
  const isGiven = args.flags.has('password-stdin')
  const password = isGiven
    ? (await deps.readInput()).replace(/\r?\n$/, '')
    : randomBytes(PASSWORD_BYTES).toString('base64url')
  refuseWeakPassword(password)
  const passwordHash = await passwords.hashPassword(password)
  const sellerName = args.options['name']?.trim() || null
  const made = await withTransaction(db, async (tx) => {
    const opened = await openAccount(tx, { email, passwordHash, sellerName })
    if (!opened) return fail('email_taken')
    const { accountId } = opened
    if (isVerified) await markEmailVerified(tx, accountId)
    else if (keyring) await mailLink(tx, keyring, { accountId, email, purpose: 'VERIFY_EMAIL' })
    return opened
  })
  if (!isVerified) await announceMail(db)
  deps.note('Keep the keys now: secret ones are shown this once.')
  return {
    account: await accountOf(deps, made.accountId),
    ...(isGiven ? {} : { password }),
    store: storeView(made.store),
    keys: made.keys.map(keyView),
  }
}

function move(verb: string, status: AccountStatus, summary: string): Command {
  return {
    name: `account ${verb}`,
    summary,
    parameters: ['account'],
    run: (deps, args) =>
      change(deps, args, (accountId) => setAccountStatus(deps.db, accountId, status)),
  }
}

async function change(
  deps: OpsDeps,
  args: Arguments,
  work: (accountId: string) => Promise<void>,
): Promise<Answer> {
  const accountId = await resolveAccount(deps, args.words[0] ?? '')
  await work(accountId)
  return { account: await accountOf(deps, accountId) }
}

async function showAccount(deps: OpsDeps, args: Arguments): Promise<Answer> {
  const accountId = await resolveAccount(deps, args.words[0] ?? '')
  const stores = await listStores(deps.db, accountId, STORES_SHOWN_MAX)
  return { account: await accountOf(deps, accountId), stores }
}

async function accountOf({ db, config }: OpsDeps, accountId: string) {
  return accountView(await readAccount(db, accountId), config.planCapsUsd)
}
