import { ServiceError } from '#shared/errors.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import { resetPassword, verifyEmail } from '../../accounts/login.ts'
import { requestLink } from '../../accounts/mailed-link.ts'
import { isAcceptablePassword } from '../../accounts/password.ts'
import type { ApiDeps } from '../../deps.ts'
import { type Form, readForm, readQuery } from '../form.ts'
import type { PageView } from '../layout/document.ts'
import { type PageCall, page } from '../page.ts'
import { askAgainView, doneView, type LinkPurpose, resetView, verifyView } from './view.ts'

/** Opening a mailed link does nothing: mail scanners open links too. The button does it. */
export const verifyEmailPage = page({
  method: 'GET',
  path: '/verify-email',
  summary: 'The page behind the link of a verification mail',
  needsDatabase: false,
  handle: (_, { request, texts, base }) => {
    const token = tokenOf(readQuery(request))
    return token === ''
      ? askAgainView('verify', { texts, base })
      : verifyView(token, { texts, base })
  },
})

export const verifyEmailFromPage = page({
  method: 'POST',
  path: '/verify-email',
  summary: 'The button that verifies a mail address',
  handle: async (deps, { request, texts, base }) => {
    const token = tokenOf(await readForm(request))
    return unlessDead('verify', { texts, base }, async () => {
      await verifyEmail(deps, token)
      return doneView(texts.verify)
    })
  },
})

export const resetPasswordPage = page({
  method: 'GET',
  path: '/reset-password',
  summary: 'The page behind the link of a password mail',
  needsDatabase: false,
  handle: (_, { request, texts, base }) => {
    const token = tokenOf(readQuery(request))
    return token === '' ? askAgainView('reset', { texts, base }) : resetView(token, { texts, base })
  },
})

export const resetPasswordFromPage = page({
  method: 'POST',
  path: '/reset-password',
  summary: 'The button that sets a new password',
  handle: async (deps, { request, texts, base }) => {
    const form = await readForm(request)
    const token = tokenOf(form)
    const password = form.text('password')
    const mistake = mistakeOf(password, form.text('repeat'))
    if (mistake !== undefined) return resetView(token, { texts, base, mistake })
    return unlessDead('reset', { texts, base }, async () => {
      await resetPassword(deps, { token, password })
      return doneView(texts.reset)
    })
  },
})

export const verifyEmailAgainFromPage = page({
  method: 'POST',
  path: '/verify-email/again',
  summary: 'The button that mails another link to verify an address',
  handle: (deps, call) => mailAgain(deps, 'verify', call),
})

export const resetPasswordAgainFromPage = page({
  method: 'POST',
  path: '/reset-password/again',
  summary: 'The button that mails another link to set a password',
  handle: (deps, call) => mailAgain(deps, 'reset', call),
})

const PURPOSES = { verify: 'VERIFY_EMAIL', reset: 'RESET_PASSWORD' } as const

/** Characters of the longest token that is looked at; ours have 50. */
const TOKEN_LENGTH_MAX = 200

function tokenOf(form: Form): string {
  const token = form.text('token')
  return token.length <= TOKEN_LENGTH_MAX ? token : ''
}

function mistakeOf(password: string, repeat: string): 'weak' | 'different' | undefined {
  if (!isAcceptablePassword(password)) return 'weak'
  return password === repeat ? undefined : 'different'
}

/** A token that is unknown, used or over is the one thing wrong that remains to say. */
async function unlessDead(
  purpose: LinkPurpose,
  shown: Pick<PageCall<string>, 'texts' | 'base'>,
  work: () => Promise<PageView>,
): Promise<PageView> {
  try {
    return await work()
  } catch (error) {
    const isToken = error instanceof ServiceError && error.details.param === 'token'
    if (isToken) return askAgainView(purpose, shown)
    throw error
  }
}

/** What it answers does not tell whether the address has an account. Errors: rate_limited, those of the form. */
async function mailAgain(
  deps: ApiDeps,
  purpose: LinkPurpose,
  call: PageCall<string>,
): Promise<PageView> {
  const { request, texts, base } = call
  const text = (await readForm(request)).text('email')
  const email = parseMailAddress(text)
  if (email === undefined) return askAgainView(purpose, { texts, base, wrongEmail: text })
  await requestLink(deps, PURPOSES[purpose], email, call)
  return doneView(texts.link)
}
