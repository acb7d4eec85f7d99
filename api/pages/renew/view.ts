import { centsToDecimal } from '#shared/money.ts'
import type { Token } from '#shared/networks/registry.ts'
import { isEnded } from '#shared/subscriptions/machine.ts'
import type { RenewalRow } from '../../checkout/renewal-queries.ts'
import { asset } from '../assets.ts'
import { type Html, html } from '../html.ts'
import type { PageView } from '../layout/document.ts'
import type { Texts } from '../locales/en.ts'

/** One thing to pay the next period with. */
export type RenewOption = {
  network: string
  token: Token
  networkName: string
  /** What the form sends: `base:usdc`. */
  value: string
}

type Shown = { texts: Texts; base: string; token: string; isMistaken?: boolean }

/** The choice looks as it does where things are bought. */
const STYLE = asset('buy', 'style', 'css')

export function renewView(
  row: RenewalRow,
  options: readonly RenewOption[],
  shown: Shown,
): PageView {
  const { texts, isMistaken = false } = shown
  const { renew } = texts
  return {
    title: renew.title(sellerOf(row).name),
    seller: sellerOf(row),
    isTest: row.mode === 'test',
    style: STYLE,
    status: isMistaken ? 400 : 200,
    main: html`<article class="card buy">
${resume(row, shown)}
<header class="offer"><h1 dir="auto">${row.productName}</h1>
<p class="price"><strong>$${centsToDecimal(row.amountCents)}</strong>
<span>${texts.each[row.interval](row.intervalCount)}</span></p>
<p class="description">${standing(row, texts)}</p></header>
${!isEnded(row.status) && payForm(row, options, shown)}
${!isEnded(row.status) && cancelForm(shown)}
</article>`,
  }
}

export function sellerOf({ sellerName, branding }: RenewalRow): NonNullable<PageView['seller']> {
  return { name: branding.displayName ?? sellerName, branding }
}

/** What is due, or why nothing is. */
function standing(row: RenewalRow, { language, renew }: Texts) {
  const { status, nextDueAt } = row
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' })
  const due = nextDueAt === null ? '' : format.format(nextDueAt)
  switch (status) {
    case 'PENDING':
      return renew.pending
    case 'ACTIVE':
      return renew.active(due)
    case 'PAST_DUE':
      return renew.pastDue(due)
    case 'EXPIRED':
      return renew.expired(sellerOf(row).name)
    case 'CANCELED':
      return renew.canceled(sellerOf(row).name)
  }
}

function resume(
  { openPaymentId, status }: RenewalRow,
  { texts: { buy }, base }: Shown,
): Html | undefined {
  if (openPaymentId === null || isEnded(status)) return undefined
  return html`<p class="resume">${buy.resume} <a href="${base}/pay/${openPaymentId}">${buy.resumeLink}</a></p>`
}

function payForm(row: RenewalRow, options: readonly RenewOption[], shown: Shown): Html {
  const {
    texts: { buy, renew },
    base,
    token,
    isMistaken,
  } = shown
  if (options.length === 0) return html`<p class="alert">${buy.noOptions}</p>`
  return html`<form method="post" action="${base}/renew/${token}">
${isMistaken && html`<p class="alert" role="alert">${buy.optionWrong}</p>`}
<fieldset aria-describedby="choose-hint"><legend>${buy.choose}</legend>
<p class="muted" id="choose-hint">${buy.chooseHint}</p>
<div class="options">${options.map((option) => radio(option, isUsual(option, row), buy))}</div></fieldset>
<p class="go"><button>${row.status === 'PENDING' ? renew.goFirst : renew.go}</button></p>
<p class="muted">${buy.goHint}</p>
</form>`
}

/** What was paid with before is chosen already. */
function isUsual({ network, token }: RenewOption, row: RenewalRow): boolean {
  return network === row.network && token === row.token
}

function radio({ value, token, networkName }: RenewOption, isChecked: boolean, buy: Texts['buy']) {
  return html`<label class="option"><input type="radio" name="option" value="${value}" required${isChecked && html` checked`}>
<span class="mark" data-token="${token}" aria-hidden="true"></span>
<span class="name">${buy.network(token.toUpperCase(), networkName)}</span></label>`
}

/** Two steps without a script: a mail scanner that opens links, or one wrong click, ends nothing. */
function cancelForm({ texts: { renew }, base, token }: Shown): Html {
  return html`<details><summary class="quiet">${renew.cancel}</summary>
<form method="post" action="${base}/renew/${token}/cancel">
<p class="muted">${renew.cancelSure}</p>
<p><button class="danger">${renew.cancelGo}</button></p>
</form></details>`
}
