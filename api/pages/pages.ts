import type { Route } from '../app.ts'
import {
  resetPasswordAgainFromPage,
  resetPasswordFromPage,
  resetPasswordPage,
  verifyEmailAgainFromPage,
  verifyEmailFromPage,
  verifyEmailPage,
} from './account/page.ts'
import { getAsset } from './assets.ts'
import { buyFromLink, buyFromSession, linkPage, sessionPage } from './buy/page.ts'
import { embedScript } from './embed/page.ts'
import { homePage } from './home/page.ts'
import { cancelFromPage, payPage, simulateFromPage } from './pay/page.ts'
import { cancelFromRenewPage, renewFromPage, renewPage } from './renew/page.ts'

/** Every hosted page. They are no part of the API, and its reference does not list them. */
export const PAGES: readonly Route[] = [
  homePage,
  payPage,
  cancelFromPage,
  simulateFromPage,
  linkPage,
  buyFromLink,
  sessionPage,
  buyFromSession,
  renewPage,
  renewFromPage,
  cancelFromRenewPage,
  verifyEmailPage,
  verifyEmailFromPage,
  verifyEmailAgainFromPage,
  resetPasswordPage,
  resetPasswordFromPage,
  resetPasswordAgainFromPage,
  embedScript,
  getAsset,
]
