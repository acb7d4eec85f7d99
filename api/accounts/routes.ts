import { endpoint } from '../endpoint.ts'
import { logIn, logOut, resetPassword, verifyEmail } from './login.ts'
import { requestLink } from './mailed-link.ts'
import {
  AccountAnswer,
  AccountObject,
  EmailBody,
  LoginAnswer,
  LoginBody,
  NothingToTell,
  PatchAccountBody,
  ResetBody,
  SignUpAnswer,
  SignUpBody,
  TokenBody,
} from './model.ts'
import { changeAccount, readEmail, showAccount, signUp } from './service.ts'

export const postAccounts = endpoint({
  method: 'POST',
  path: '/v1/accounts',
  auth: 'open',
  summary: 'Sign up: an account, a store, and its four keys, shown this once',
  status: 201,
  schemas: { body: SignUpBody },
  response: SignUpAnswer,
  fails: ['rate_limited', 'signup_closed', 'email_taken'],
  handle: (deps, call) => signUp(deps, call.body, call),
})

export const postVerifyEmail = endpoint({
  method: 'POST',
  path: '/v1/accounts/verify-email',
  auth: 'open',
  summary: 'Verify the account’s mail address with the token that was mailed to it',
  schemas: { body: TokenBody },
  response: AccountAnswer,
  handle: (deps, { body }) => verifyEmail(deps, body.token),
})

export const postVerifyEmailResend = endpoint({
  method: 'POST',
  path: '/v1/accounts/verify-email/resend',
  auth: 'open',
  summary: 'Send the verification mail again; the answer does not tell whether there is an account',
  status: 202,
  schemas: { body: EmailBody },
  response: NothingToTell,
  fails: ['rate_limited'],
  handle: async (deps, call) => {
    await requestLink(deps, 'VERIFY_EMAIL', readEmail(call.body.email), call)
    return {}
  },
})

export const postLogin = endpoint({
  method: 'POST',
  path: '/v1/accounts/login',
  auth: 'open',
  summary: 'Log in: a session token that reaches all stores of the account',
  schemas: { body: LoginBody },
  response: LoginAnswer,
  fails: ['rate_limited', 'invalid_credentials'],
  handle: (deps, call) => logIn(deps, call.body, call),
})

export const postLogout = endpoint({
  method: 'POST',
  path: '/v1/accounts/logout',
  auth: 'seller',
  summary: 'End the login whose token this is sent with',
  description: 'Takes a login token only; a secret key is answered `invalid_api_key`.',
  status: 204,
  handle: (deps, { caller, request }) => logOut(deps, caller, request),
})

export const postPasswordForgot = endpoint({
  method: 'POST',
  path: '/v1/accounts/password/forgot',
  auth: 'open',
  summary:
    'Mail a link that sets a new password; the answer does not tell whether there is an account',
  status: 202,
  schemas: { body: EmailBody },
  response: NothingToTell,
  fails: ['rate_limited'],
  handle: async (deps, call) => {
    await requestLink(deps, 'RESET_PASSWORD', readEmail(call.body.email), call)
    return {}
  },
})

export const postPasswordReset = endpoint({
  method: 'POST',
  path: '/v1/accounts/password/reset',
  auth: 'open',
  summary: 'Set a new password with the token that was mailed; ends every login of the account',
  schemas: { body: ResetBody },
  response: AccountAnswer,
  handle: (deps, { body }) => resetPassword(deps, body),
})

export const getAccount = endpoint({
  method: 'GET',
  path: '/v1/account',
  auth: 'seller',
  summary: 'Read the account, with its plan and what it received this month',
  response: AccountObject,
  handle: (deps, { caller }) => showAccount(deps, caller.accountId),
})

export const patchAccount = endpoint({
  method: 'PATCH',
  path: '/v1/account',
  auth: 'seller',
  summary: 'Change the account',
  schemas: { body: PatchAccountBody },
  response: AccountObject,
  fails: ['mode_mismatch'],
  handle: (deps, { caller, body }) => changeAccount(deps, caller, body),
})
