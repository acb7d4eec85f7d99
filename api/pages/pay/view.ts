import { isPaid } from '#shared/payments/machine.ts'
import type { ViewContext } from '#shared/payments/view.ts'
import { asset } from '../assets.ts'
import { type Html, html } from '../html.ts'
import type { PageView } from '../layout/document.ts'
import type { Texts } from '../locales/en.ts'
import { factsOf, type PayFacts } from './facts.ts'
import type { PayPageRow } from './queries.ts'
import { transferPart } from './transfer.ts'

/** Seconds between two looks of a browser without scripts. */
const REFRESH_SECONDS = 15

const STYLE = asset('pay', 'style', 'css')
const SCRIPT = asset('pay', 'script', 'js')

/**
 * The payment page. Each `data-part` is exchanged by the script when the server has another one, so that what a status
 * looks like is written here alone.
 */
export function payView(
  row: PayPageRow,
  { texts, base, context }: { texts: Texts; base: string; context: ViewContext },
): PageView {
  const facts = factsOf(row, context)
  const { payment, state, isLive } = facts
  const seller = row.sellerName
  const title = `${texts.pay.status[state]} · ${seller}`
  return {
    title,
    seller: { name: seller, branding: row.branding },
    isTest: row.mode === 'test',
    style: STYLE,
    ...(isLive ? { script: SCRIPT, refreshSeconds: REFRESH_SECONDS } : {}),
    main: html`<article class="card pay" id="payment" data-state="${state}" data-live="${String(isLive)}"
  data-title="${title}" data-version="${versionOf(facts)}" data-url="${base}/v1/payments/${payment.paymentId}"
  data-expires="${row.expiresAt.getTime()}" data-now="${row.now.getTime()}">
<div data-part="status">${statusPart(facts, texts)}</div>
<div data-part="transfer">${state === 'PENDING' && transferPart(facts, texts)}</div>
<div data-part="facts">${factsPart(facts, texts)}</div>
<div data-part="ways">${waysPart(facts, texts, base)}</div>
<p class="offline" role="status" data-offline hidden>${texts.pay.offline}</p>
</article>`,
  }
}

/** What the script compares with the payment it is told of: it asks for the page again when this differs. */
function versionOf({ payment }: PayFacts): string {
  return `${payment.status}:${payment.confirmations}:${payment.txHash ?? ''}`
}

function statusPart(facts: PayFacts, texts: Texts): Html {
  const { state, payment, row, due, token } = facts
  const { pay } = texts
  return html`<div class="status" data-state="${state}">
<div role="status" data-heading><h1>${pay.status[state]}</h1></div>
${state === 'PENDING' && timeLeft(facts, texts)}
</div>
${stepsOf(facts, texts)}
<p class="price"><span class="usd">${texts.usd(payment.amount)}</span>
${row.productName !== null && html`<span class="item" dir="auto">${row.productName}</span>`}
${row.everyInterval !== null && html`<span class="muted">${texts.each[row.everyInterval](row.everyCount ?? 1)}</span>`}
${state !== 'PENDING' && html`<span class="muted">${due} ${token}</span>`}</p>
${say(facts, texts)}
${state === 'DETECTED' && confirmations(facts, texts)}`
}

function timeLeft({ leftMs }: PayFacts, { pay }: Texts): Html {
  const minutes = Math.ceil(leftMs / 60_000)
  return html`<span class="clock"><span class="hidden">${pay.timeLeft}: </span><span role="timer" data-countdown>${pay.minutesLeft(minutes)}</span></span>`
}

const STEPS = ['PENDING', 'DETECTED', 'CONFIRMED'] as const

/** Where a payment stands that is on its way; one that ended otherwise has no steps. */
function stepsOf({ state }: PayFacts, { pay: { steps } }: Texts): Html | undefined {
  const at = STEPS.findIndex((step) => step === (state === 'OVERPAID' ? 'CONFIRMED' : state))
  if (at < 0) return undefined
  const items = STEPS.map((step, index) => {
    const isDone = index < at || at === STEPS.length - 1
    return html`<li class="${isDone ? 'done' : ''}"${index === at && html` aria-current="step"`}>${steps[step]}</li>`
  })
  return html`<ol class="steps" aria-label="${steps.name}">${items}</ol>`
}

function say(facts: PayFacts, { pay }: Texts): Html | undefined {
  const { state, row, network, token } = facts
  const { say: words } = pay
  const due = `${facts.due} ${token}`
  const received = `${facts.received} ${token}`
  switch (state) {
    case 'PENDING':
      return undefined
    case 'DETECTED':
      return html`<p>${words.DETECTED(network)}</p>`
    case 'UNDERPAID':
    case 'OVERPAID':
      return html`<p>${words[state](received, due, row.sellerName)}</p>`
    case 'WINDOW_OVER':
      return html`<p>${words.WINDOW_OVER}</p>`
    default:
      return html`<p>${words[state](row.sellerName)}</p>`
  }
}

function confirmations({ payment }: PayFacts, { pay }: Texts): Html {
  const { confirmations: count, confirmationsRequired: required } = payment
  const text = pay.confirmations(count, required)
  return html`<div class="confirmations"><progress max="${required}" value="${count}" aria-label="${text}"></progress>
<span class="muted">${text}</span></div>`
}

function factsPart(
  { payment, row, state, network, token, explorerUrl }: PayFacts,
  { pay }: Texts,
): Html {
  return html`<dl>
${state !== 'PENDING' && html`<div><dt>${pay.network}</dt><dd>${token} · ${network}</dd></div>`}
${
  row.txHash !== null &&
  !row.isSimulated &&
  html`<div><dt>${pay.transaction}</dt><dd><code>${row.txHash}</code>
${explorerUrl !== undefined && html`<a href="${explorerUrl}" target="_blank" rel="noopener noreferrer">${pay.explorer}</a>`}</dd></div>`
}
<div><dt>${pay.number}</dt><dd><code>${payment.paymentId}</code></dd></div>
</dl>`
}

function waysPart(facts: PayFacts, texts: Texts, base: string): Html {
  const { row, state, payment, choosePath, successUrl, cancelUrl } = facts
  const { pay } = texts
  const isPaidNow = isPaid(row.status)
  const isOpen = row.status === 'PENDING'
  const path = `${base}/pay/${payment.paymentId}`
  const isSettled = !isOpen && state !== 'DETECTED'
  return html`<nav class="ways">
${isPaidNow && successUrl !== undefined && html`<a class="button" href="${successUrl}" rel="noreferrer">${pay.continue(row.sellerName)}</a>`}
${choosePath !== undefined && state !== 'DETECTED' && html`<a class="${isOpen ? 'quiet' : 'button'}" href="${base}${choosePath}">${isOpen ? pay.otherWay : pay.again}</a>`}
${isSettled && !isPaidNow && cancelUrl !== undefined && html`<a class="quiet" href="${cancelUrl}" rel="noreferrer">${texts.backToSeller(row.sellerName)}</a>`}
${
  isOpen &&
  html`<details class="cancel"><summary class="quiet">${pay.cancel}</summary>
<form method="post" action="${path}/cancel"><p>${pay.cancelSure}</p><button class="danger">${pay.cancelGo}</button></form></details>`
}
${row.mode === 'test' && !isSettled && html`<form method="post" action="${path}/simulate"><button class="quiet">${pay.simulate}</button></form>`}
</nav>`
}
