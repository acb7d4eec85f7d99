import type { ShopConfig } from './server.ts'

type Product = ShopConfig['products'][number]

/** Drawings for the goods, 64 units square, drawn with the text's colour. */
const DRAWINGS = [
  '<ellipse cx="25" cy="33" rx="9" ry="14" transform="rotate(-28 25 33)"/><path d="M19 22c8 6 4 14 12 22"/><ellipse cx="42" cy="30" rx="7" ry="11" transform="rotate(24 42 30)"/><path d="M46 21c-6 5-3 11-8 18"/>',
  '<path d="M18 26h26v12a13 13 0 0 1-26 0z"/><path d="M44 28h4a6 6 0 0 1 0 12h-4"/><path d="M25 19c0-4 4-4 4-8M35 19c0-4 4-4 4-8"/>',
  '<path d="M20 18h24l-3 32a3 3 0 0 1-3 3H26a3 3 0 0 1-3-3z"/><path d="M22 30h20M24 18l2-6h12l2 6"/>',
]

/** The shop's page. What the script needs stands in attributes; everything is escaped. */
export function page({ products, apiUrl, publishableKey }: ShopConfig): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Corner Roastery – demo shop</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/shop.css">
<script src="/shop.js" defer></script>
</head>
<body data-api="${escapeHtml(apiUrl)}" data-key="${escapeHtml(publishableKey)}">
<header>
  <div class="brand"><svg viewBox="0 0 64 64" aria-hidden="true">${DRAWINGS[0]}</svg>Corner Roastery</div>
  <span class="badge">Test money</span>
</header>
<main>
  <section class="goods" aria-labelledby="goods-title">
    <h1 id="goods-title">Coffee, paid in stablecoins</h1>
    <p class="lead">A seller’s site that talks to your payment service over HTTP, as yours will.</p>
    <ul>${products.map(card).join('')}</ul>
    <fieldset id="options"><legend>Pay with</legend><div class="chips" id="chips"></div></fieldset>
  </section>
  <section class="panel" id="checkout" aria-live="polite">
    <p class="empty" id="empty">Choose something and press <strong>Buy</strong>: the browser calls <code>POST /v1/checkout</code> with the publishable key.</p>
    <p class="alert" id="alert" role="alert" hidden></p>
    <div id="payment" hidden>
      <div class="row"><span class="status" id="status"></span><span class="muted" id="item"></span></div>
      <p class="due"><span id="due"></span> <span class="token" id="token"></span></p>
      <ol class="steps" id="steps">
        <li data-step="PENDING">Waiting</li>
        <li data-step="DETECTED">Seen on chain</li>
        <li data-step="CONFIRMED" id="last-step">Confirmed</li>
      </ol>
      <div class="bar" role="progressbar" aria-label="Confirmations" id="bar"><i id="bar-fill"></i></div>
      <p class="muted" id="depth"></p>
      <p class="shipped" id="shipped" hidden>✓ The seller’s server verified the webhook: this order ships.</p>
      <dl>
        <div class="fact"><dt>Send to</dt><dd><code id="pay-to"></code></dd></div>
        <div class="fact"><dt>Network</dt><dd id="network"></dd></div>
        <div class="fact"><dt>Payment</dt><dd><code id="payment-id"></code></dd></div>
        <div class="fact" id="tx-row" hidden><dt>Transaction</dt><dd><code id="tx-hash"></code></dd></div>
        <div class="fact"><dt>Expires</dt><dd id="expires"></dd></div>
      </dl>
      <div class="actions" id="actions">
        <button class="primary" data-way="exact">Pay from the test wallet</button>
        <div class="others">
          <button data-way="parts">Pay in two parts</button>
          <button data-way="less">Pay less</button>
          <button data-way="more">Pay more</button>
          <button data-way="twice">Pay twice</button>
          <button data-cancel>Cancel</button>
        </div>
      </div>
    </div>
  </section>
  <section class="panel hooks" aria-labelledby="hooks-title">
    <div class="row"><h2 id="hooks-title">Webhooks received</h2><span class="muted" id="hook-count">none yet</span></div>
    <p class="muted">What the seller’s server got, newest first. It ships the order on a genuine <code>payment.confirmed</code>, never on what a browser says.</p>
    <ol id="hooks"></ol>
  </section>
</main>
</body>
</html>
`
}

function card(product: Product, index: number): string {
  const price = `$${(product.amountCents / 100).toFixed(2)}`
  return `<li class="card">
  <svg viewBox="0 0 64 64" aria-hidden="true">${DRAWINGS[index % DRAWINGS.length]}</svg>
  <div><h3>${escapeHtml(product.name)}</h3><p class="price">${escapeHtml(price)}</p></div>
  <button class="primary" data-price="${escapeHtml(product.priceId)}" data-name="${escapeHtml(product.name)}">Buy</button>
</li>`
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
