import { html } from '../html.ts'
import type { PageView } from '../layout/document.ts'
import type { Texts } from '../locales/en.ts'

/** What a mailed link is for. */
export type LinkPurpose = 'verify' | 'reset'

type Shown = { texts: Texts; base: string }

const PATHS = { verify: '/verify-email', reset: '/reset-password' } as const
/** Characters of the longest mail address (RFC 5321). */
const EMAIL_LENGTH_MAX = 254

export function verifyView(token: string, { texts: { verify }, base }: Shown): PageView {
  return {
    title: verify.title,
    picker: { token },
    main: html`<section class="card notice">
<h1>${verify.title}</h1>
<p>${verify.lead}</p>
<form method="post" action="${base}/verify-email">
<input type="hidden" name="token" value="${token}">
<p><button>${verify.go}</button></p>
</form>
</section>`,
  }
}

export function resetView(
  token: string,
  { texts: { reset }, base, mistake }: Shown & { mistake?: 'weak' | 'different' },
): PageView {
  return {
    title: reset.title,
    picker: { token },
    status: mistake === undefined ? 200 : 400,
    main: html`<section class="card notice">
<h1>${reset.title}</h1>
<p>${reset.lead}</p>
${mistake && html`<p class="alert" role="alert">${reset[mistake]}</p>`}
<form method="post" action="${base}/reset-password">
<input type="hidden" name="token" value="${token}">
<div class="field"><label class="label" for="password">${reset.password}</label>
<input type="password" id="password" name="password" required minlength="12" autocomplete="new-password" aria-describedby="password-hint">
<p class="muted" id="password-hint">${reset.passwordHint}</p></div>
<div class="field"><label class="label" for="repeat">${reset.repeat}</label>
<input type="password" id="repeat" name="repeat" required minlength="12" autocomplete="new-password"></div>
<p><button>${reset.go}</button></p>
</form>
</section>`,
  }
}

export function doneView({ doneTitle, done }: { doneTitle: string; done: string }): PageView {
  return {
    title: doneTitle,
    picker: 'none',
    main: html`<section class="card notice"><h1>${doneTitle}</h1><p>${done}</p></section>`,
  }
}

/**
 * What a link says that is not good, the same for every reason: nobody learns which tokens there were. Another link is a
 * mail address away. `wrongEmail` is what was written there and is no address.
 */
export function askAgainView(
  purpose: LinkPurpose,
  { texts: { link, buy }, base, wrongEmail }: Shown & { wrongEmail?: string },
): PageView {
  return {
    title: link.title,
    status: 400,
    // What was submitted went to an address of its own, which shows no page.
    picker: wrongEmail === undefined ? {} : 'none',
    main: html`<section class="card notice">
<h1>${link.title}</h1>
<p>${link.say}</p>
${wrongEmail !== undefined && html`<p class="alert" role="alert">${buy.emailWrong}</p>`}
<form method="post" action="${base}${PATHS[purpose]}/again">
<div class="field"><label class="label" for="email">${buy.email}</label>
<input type="email" id="email" name="email" value="${wrongEmail ?? ''}" required maxlength="${EMAIL_LENGTH_MAX}" autocomplete="email"></div>
<p><button>${link.go}</button></p>
</form>
</section>`,
  }
}
