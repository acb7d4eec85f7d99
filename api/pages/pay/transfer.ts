import { type Html, html } from '../html.ts'
import type { Texts } from '../locales/en.ts'
import { qrCode } from '../qr.ts'
import type { PayFacts } from './facts.ts'

/** What a buyer needs to send the money: amount, address, codes, and the warning that saves it. */
export function transferPart(facts: PayFacts, texts: Texts): Html {
  const { row, payment, due, token, network } = facts
  const { pay } = texts
  // The plain address stands in its place where the network is not known any more.
  const isUri = payment.paymentUri !== payment.payTo
  return html`<p class="only"><strong>${pay.only(token, network)}</strong>
${row.mode === 'test' ? pay.onlyTest(network) : pay.onlyHint}</p>
<div class="transfer">
<div class="codes">${codes(facts, texts)}</div>
<div class="numbers">
<section aria-labelledby="amount-label">
<h2 id="amount-label">${pay.send}</h2>
<p class="value amount"><span><span id="amount" class="copied" dir="ltr">${due}</span> <span class="token">${token}</span></span>
${copyButton('amount', pay.copyAmount, texts)}</p>
<p class="muted">${!row.isExclusive && pay.exactHint} ${pay.feeHint}</p>
</section>
<section aria-labelledby="address-label">
<h2 id="address-label">${pay.to}</h2>
<p class="value"><code id="address" class="copied" dir="ltr">${payment.payTo}</code>
${copyButton('address', pay.copyAddress, texts)}</p>
</section>
${isUri && html`<p class="wallet"><a class="button" href="${payment.paymentUri}">${pay.openWallet}</a></p>`}
</div>
</div>`
}

/**
 * The plain address first: every wallet reads it, and none takes it for the token's contract. The link that fills in
 * the amount stands beside it. Radio buttons switch without a script.
 */
function codes({ payment }: PayFacts, { pay }: Texts): Html {
  return html`<fieldset><legend class="hidden">${pay.qr}</legend>
<input type="radio" name="code" id="code-address" checked><label for="code-address">${pay.qrAddress}</label>
<input type="radio" name="code" id="code-uri"><label for="code-uri">${pay.qrUri}</label>
<div class="code code-address">${qrCode(payment.payTo, pay.qrAddressLabel(payment.payTo))}<p class="muted">${pay.qrAddressHint}</p></div>
<div class="code code-uri">${qrCode(payment.paymentUri, pay.qrUriLabel)}<p class="muted">${pay.qrUriHint}</p></div>
</fieldset>`
}

function copyButton(id: string, label: string, { pay }: Texts): Html {
  return html`<button type="button" class="copy" data-copy="${id}" data-done="${pay.copied}" data-selected="${pay.selected}" aria-label="${label}" hidden>${pay.copy}</button>`
}
