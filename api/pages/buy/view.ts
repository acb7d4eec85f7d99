import { centsToDecimal } from '#shared/money.ts'
import type { Token } from '#shared/networks/registry.ts'
import type { Terms } from '../../checkout/queries.ts'
import { asset } from '../assets.ts'
import { type Html, html } from '../html.ts'
import type { PageView } from '../layout/document.ts'
import type { Texts } from '../locales/en.ts'
import type { OfferRow } from './queries.ts'

/** One thing to pay with. `seconds` is how long it takes until it counts, roughly. */
export type BuyOption = {
  network: string
  token: Token
  networkName: string
  /** What the form sends: `base:usdc`. */
  value: string
  seconds: number
}

/** Which field of the form was not filled in well. */
export type BuyMistake = 'option' | 'email'

type Shown = {
  texts: Texts
  base: string
  mistake?: BuyMistake
  email?: string
  chosen?: string | undefined
}

const STYLE = asset('buy', 'style', 'css')
/** Characters of the longest mail address (RFC 5321). */
const EMAIL_LENGTH_MAX = 254

export function buyView(
  { row, terms, options }: { row: OfferRow; terms: Terms; options: readonly BuyOption[] },
  shown: Shown,
): PageView {
  const { texts, mistake } = shown
  const title = texts.buy.title(row.sellerName)
  return {
    title,
    seller: sellerOf(row),
    isTest: row.mode === 'test',
    style: STYLE,
    status: mistake === undefined ? 200 : 400,
    main: html`<article class="card buy">
${resume(row, shown)}
<header class="offer"><h1 dir="auto">${row.productName ?? title}</h1>
<p class="price"><strong>${texts.usd(centsToDecimal(terms.amountCents))}</strong>
${terms.everyInterval !== null && html`<span>${texts.each[terms.everyInterval](terms.everyCount)}</span>`}</p>
${row.description !== null && html`<p class="description" dir="auto">${row.description}</p>`}</header>
${options.length === 0 ? html`<p class="alert">${texts.buy.noOptions}</p>` : form(terms, options, shown)}
</article>`,
  }
}

export function sellerOf({ sellerName, branding }: OfferRow): NonNullable<PageView['seller']> {
  return { name: sellerName, branding }
}

/** A recurring price needs somewhere to write to when the next period is due. */
export function isEmailWanted({ everyInterval, buyerEmail }: Terms): boolean {
  return everyInterval !== null && buyerEmail === null
}

function resume({ payment }: OfferRow, { texts, base }: Shown): Html | undefined {
  if (payment?.status !== 'PENDING' || !payment.isWindowOpen) return undefined
  return html`<p class="resume">${texts.buy.resume} <a href="${base}/pay/${payment.paymentId}">${texts.buy.resumeLink}</a></p>`
}

function form(terms: Terms, options: readonly BuyOption[], shown: Shown): Html {
  const {
    texts: { buy },
    mistake,
  } = shown
  return html`<form method="post">
${mistake === 'option' && html`<p class="alert" role="alert">${buy.optionWrong}</p>`}
<fieldset aria-describedby="choose-hint"><legend>${buy.choose}</legend>
<p class="muted" id="choose-hint">${buy.chooseHint}</p>
<div class="options">${options.map((option) => radio(option, options.length === 1, shown))}</div></fieldset>
${isEmailWanted(terms) && emailField(shown)}
<p class="go"><button>${buy.go}</button></p>
<p class="muted">${buy.goHint}</p>
</form>`
}

function radio(option: BuyOption, isOnly: boolean, { texts: { buy }, chosen }: Shown): Html {
  const { value, token, networkName, seconds } = option
  const isChecked = isOnly || chosen === value
  return html`<label class="option"><input type="radio" name="option" value="${value}" required${isChecked && html` checked`}>
<span class="mark" data-token="${token}" aria-hidden="true"></span>
<span><span class="name">${buy.network(token.toUpperCase(), networkName)}</span>
${seconds > 0 && html`<span class="muted">${buy.speed(seconds)}</span>`}</span></label>`
}

function emailField({ texts: { buy }, email = '', mistake }: Shown): Html {
  const isWrong = mistake === 'email'
  return html`<div class="field"><label class="label" for="email">${buy.email}</label>
<input type="email" id="email" name="email" value="${email}" required maxlength="${EMAIL_LENGTH_MAX}" autocomplete="email"
  aria-describedby="email-hint"${isWrong && html` aria-invalid="true" autofocus`}>
<p class="muted" id="email-hint">${buy.emailHint}</p>
${isWrong && html`<p class="alert" role="alert">${buy.emailWrong}</p>`}</div>`
}
