// Checkout on a seller's own site: `<script src="{PUBLIC_URL}/embed.js" async></script>`, and a button such as
// `<button data-publishable-key="pk_…" data-price-id="price_…">Buy</button>`, or `StablecoinCheckout.open({ … })`.
// Loads nothing from elsewhere, needs no inline style or script, and keeps its looks to itself in a shadow root.

/** Beside this script, whatever path a proxy put it behind. */
const API = new URL('v1', document.currentScript.src).href
/** Milliseconds after which an answer is given up, and between two looks when nothing is streamed. */
const TIMEOUT_MS = 15_000
const POLL_MS = 5_000
/** Milliseconds for which a button says that it has copied. */
const DONE_MS = 2_000
/** What is paid for; an element has it as `data-price-id` and so on. */
const FIELDS = ['publishableKey', 'priceId', 'paymentLinkId', 'sessionId', 'amount']

const TEXTS = {
  choose: 'Pay with',
  go: 'Continue to payment',
  none: 'This seller cannot take this payment at the moment.',
  send: 'Send exactly',
  exact: 'To the last digit: it is how your payment is told from others.',
  to: 'To this address',
  only: (token, network) => `Send only ${token} on ${network}. Anything else may be lost.`,
  test: 'Test mode: no real money moves here.',
  left: 'Time left',
  wallet: 'Open in a wallet',
  page: 'QR code and more',
  copy: 'Copy',
  copied: 'Copied',
  cancel: 'Cancel this payment',
  close: 'Close',
  again: 'Try again',
  loading: 'One moment…',
  confirmations: (count, required) => `${count} of ${required} confirmations`,
  status: {
    PENDING: 'Waiting for your payment',
    DETECTED: 'Payment seen',
    CONFIRMED: 'Payment confirmed. Thank you.',
    OVERPAID: 'Paid, with more than was due. The seller has been told.',
    UNDERPAID: 'Too little was paid. Ask the seller what to do about it.',
    EXPIRED: 'This payment has expired. Send nothing to its address any more.',
    CANCELED: 'This payment was canceled. Send nothing to its address any more.',
  },
  problem: {
    rate_limited: 'Too many payments at this moment. Wait a minute and try again.',
    slots_exhausted: 'Too many payments at this moment. Wait a minute and try again.',
    session_closed: 'This checkout is over. Begin again at the seller’s.',
    price_inactive: 'This is no longer sold.',
    link_inactive: 'This is no longer sold.',
  },
  refused: 'This seller cannot take this payment. Nothing was charged.',
  offline: 'That did not work. Nothing was charged.',
}

const STYLE = `
:host { all: initial }
dialog { box-sizing: border-box; width: min(26rem, calc(100vw - 2rem)); max-height: calc(100vh - 2rem); padding: 1.5rem;
  border: 0; border-radius: 14px; background: #fff; color: #16181d; font: 16px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; box-shadow: 0 20px 60px #0006; border-top: 4px solid var(--brand, #1f5fd6) }
dialog::backdrop { background: #0008 }
header { display: flex; align-items: center; gap: .75rem; margin-bottom: .75rem; font-weight: 600 }
header span { flex: 1 }
img { width: 32px; height: 32px; border-radius: 8px; object-fit: contain }
h2 { margin: .25rem 0; font-size: 1.25rem }
p { margin: .5rem 0 }
small, label span { color: #5a6170 }
code { display: block; padding: .5rem .75rem; border-radius: 8px; background: #f4f5f7; font: 15px ui-monospace, monospace }
label { display: flex; gap: .5rem; padding: .5rem 0 }
button, a { display: inline-block; margin: .5rem .5rem 0 0; padding: .5rem 1rem; border: 1px solid #dfe2e8;
  border-radius: 8px; background: #fff; color: #16181d; font: inherit; text-decoration: none; cursor: pointer }
button.go { width: 100%; border-color: transparent; background: #1f5fd6; color: #fff; font-weight: 600 }
.test { padding: .25rem .75rem; border-radius: 8px; background: #fdf2d8; color: #7a4d00; font-size: 14px }
.bad { color: #a3231f }`

document.addEventListener('click', (event) => {
  const { target } = event
  const button = target instanceof Element ? target.closest('[data-publishable-key]') : null
  if (!button || button.disabled) return
  event.preventDefault()
  const onChange = (detail) =>
    button.dispatchEvent(new CustomEvent('checkout', { bubbles: true, detail }))
  open({ ...orderOf(button.dataset), onChange })
})
window.StablecoinCheckout = { open }

/** @param {DOMStringMap} data */
function orderOf(data) {
  const order = {}
  for (const field of [...FIELDS, 'buyerEmail']) if (data[field]) order[field] = data[field]
  if (order.amount) order.amount = Number(order.amount)
  if (data.metadata) order.metadata = JSON.parse(data.metadata)
  return order
}

/**
 * Opens the checkout over the page. `onChange` is told the payment when it is made and at each change; ship on the
 * webhook, never on this. Answers how to close it, which cancels nothing.
 */
function open({ onChange = () => {}, ...order }) {
  const view = createView()
  const run = { order, view, onChange, payment: undefined, stream: undefined, timers: [] }
  view.dialog.addEventListener('close', () => {
    run.stream?.close()
    for (const timer of run.timers) clearInterval(timer)
    view.host.remove()
  })
  void begin(run)
  return { close: () => view.dialog.close() }
}

async function begin(run) {
  const { view, order } = run
  view.show(make('p', {}, TEXTS.loading))
  try {
    const asked = FIELDS.map((field) => [field, order[field]])
    const info = await ask('POST', '/checkout/info', Object.fromEntries(asked))
    view.dress(info)
    const known = await findOpen(run)
    if (known) follow(run, known)
    else choose(run, info)
  } catch (error) {
    fail(run, error)
  }
}

function choose(run, { amount, options }) {
  const price = make('h2', {}, `$${amount}`)
  if (options.length === 0) return run.view.show(price, make('p', { className: 'bad' }, TEXTS.none))
  const form = make('form', {})
  const legend = make('p', {}, make('small', {}, TEXTS.choose))
  const choices = options.map(({ network, token }, index) => {
    const input = {
      type: 'radio',
      name: 'option',
      value: `${network}:${token}`,
      checked: index === 0,
    }
    return make('label', {}, make('input', input), `${token.toUpperCase()} on ${nameOf(network)}`)
  })
  form.append(legend, ...choices, make('button', { className: 'go' }, TEXTS.go))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const [network, token] = new FormData(form).get('option').split(':')
    form.querySelector('button').disabled = true
    void claim(run, { network, token })
  })
  return run.view.show(price, form)
}

/** Called once per attempt: each call claims a slot. */
async function claim(run, option) {
  try {
    const payment = await ask('POST', '/checkout', { ...run.order, ...option })
    remember(run, payment.paymentId)
    follow(run, payment)
  } catch (error) {
    fail(run, error)
  }
}

function follow(run, payment) {
  change(run, payment)
  const path = `/payments/${payment.paymentId}`
  run.stream = new EventSource(`${API}${path}/stream`)
  run.stream.onmessage = ({ data }) => change(run, JSON.parse(data))
  const look = async () => {
    if (run.stream.readyState === EventSource.OPEN || !isOpen(run.payment)) return
    // A look that fails is made again: the page says nothing false meanwhile.
    const seen = await ask('GET', path).catch(() => undefined)
    if (seen) change(run, seen)
  }
  run.timers.push(
    setInterval(look, POLL_MS),
    setInterval(() => run.view.tick(run.payment), 1_000),
  )
}

function change(run, payment) {
  const before = run.payment
  run.payment = { ...payment, offsetMs: Date.parse(payment.serverTime) - Date.now() }
  const keys = ['status', 'confirmations', 'txHash']
  if (before && keys.every((key) => before[key] === payment[key])) return
  showPayment(run)
  if (!isOpen(payment)) {
    run.stream?.close()
    forget(run)
  }
  run.onChange(payment)
}

function showPayment(run) {
  const { view, payment } = run
  const { status, confirmations, confirmationsRequired } = payment
  const heading = make('h2', { role: 'status' }, TEXTS.status[status] ?? status)
  if (status === 'PENDING') return view.show(heading, ...dueParts(run))
  const count = TEXTS.confirmations(confirmations, confirmationsRequired)
  return view.show(heading, status === 'DETECTED' ? make('p', {}, count) : '')
}

function dueParts(run) {
  const { payment } = run
  const { network, token, payTo, paymentUri, checkoutUrl } = payment
  const exact = toDecimal(payment.amountBaseUnits, payment.decimals)
  const link = { target: '_blank', rel: 'noopener noreferrer' }
  const cancel = make('button', { type: 'button' }, TEXTS.cancel)
  cancel.addEventListener('click', async () => {
    cancel.disabled = true
    const canceled = await ask('POST', `/payments/${payment.paymentId}/cancel`).catch(
      () => undefined,
    )
    if (canceled) change(run, canceled)
    cancel.disabled = false
  })
  return [
    ...copyable(TEXTS.send, exact, token.toUpperCase()),
    make('p', {}, make('small', {}, TEXTS.exact)),
    ...copyable(TEXTS.to, payTo, ''),
    make('p', {}, make('small', {}, TEXTS.only(token.toUpperCase(), nameOf(network)))),
    make('p', {}, `${TEXTS.left} `, make('b', { className: 'left' })),
    /^(ethereum|solana):/.test(paymentUri) ? make('a', { href: paymentUri }, TEXTS.wallet) : '',
    /^https?:/.test(checkoutUrl) ? make('a', { href: checkoutUrl, ...link }, TEXTS.page) : '',
    cancel,
  ]
}

function copyable(title, text, unit) {
  const button = make(
    'button',
    { type: 'button', ariaLabel: `${TEXTS.copy}: ${title}` },
    TEXTS.copy,
  )
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = TEXTS.copied
    setTimeout(() => {
      button.textContent = TEXTS.copy
    }, DONE_MS)
  })
  const parts = [
    make('p', {}, make('small', {}, title)),
    make('code', {}, text, unit && ` ${unit}`),
  ]
  // Browsers let pages copy over https alone.
  return navigator.clipboard ? [...parts, button] : parts
}

function fail(run, error) {
  const words = error.code ? (TEXTS.problem[error.code] ?? TEXTS.refused) : TEXTS.offline
  const again = make('button', { type: 'button' }, TEXTS.again)
  again.addEventListener('click', () => void begin(run))
  run.view.show(make('p', { className: 'bad', role: 'alert' }, words), again)
}

function createView() {
  const host = make('div', {})
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  const root = host.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [sheet]
  const name = make('span', {})
  const close = make('button', { type: 'button', ariaLabel: TEXTS.close }, '✕')
  const header = make('header', {}, name, close)
  const body = make('div', {})
  const dialog = make('dialog', {}, header, body)
  close.addEventListener('click', () => dialog.close())
  root.append(dialog)
  document.body.append(host)
  dialog.showModal()
  return {
    ...{ host, dialog },
    show: (...parts) => body.replaceChildren(...parts),
    dress({ sellerName, branding, mode }) {
      name.textContent = branding.displayName ?? sellerName
      const { logoUrl = '', color = '' } = branding
      if (/^#[0-9a-f]{6}$/i.test(color)) host.style.setProperty('--brand', color)
      const logo = { src: logoUrl, alt: '', referrerPolicy: 'no-referrer' }
      if (logoUrl.startsWith('https://') && !header.querySelector('img'))
        header.prepend(make('img', logo))
      if (mode === 'test' && !dialog.querySelector('.test')) {
        header.after(make('p', { className: 'test' }, TEXTS.test))
      }
    },
    tick(payment) {
      const left = body.querySelector('.left')
      if (left) left.textContent = timeLeft(payment)
    },
  }
}

function timeLeft({ expiresAt, offsetMs }) {
  const seconds = Math.max(0, Math.round((Date.parse(expiresAt) - Date.now() - offsetMs) / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

function isOpen({ status }) {
  return status === 'PENDING' || status === 'DETECTED'
}

/** The payment that this tab began for the same order, so that closing and opening again claims no second slot. */
async function findOpen(run) {
  const paymentId = recall(run)
  const payment = paymentId && (await ask('GET', `/payments/${paymentId}`).catch(() => undefined))
  return payment && isOpen(payment) ? payment : undefined
}

const keyOf = ({ order }) => `stablecoin-checkout:${JSON.stringify(order)}`
const recall = (run) => withStorage((storage) => storage.getItem(keyOf(run)))
const remember = (run, id) => withStorage((storage) => storage.setItem(keyOf(run), id))
const forget = (run) => withStorage((storage) => storage.removeItem(keyOf(run)))

/** A browser may forbid a page its storage: then nothing is remembered. */
function withStorage(use) {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}

/** Throws an error with the answer's `code`, and one without when there was no answer of ours. */
async function ask(method, path, body) {
  const response = await fetch(`${API}${path}`, {
    method,
    credentials: 'omit',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  })
  const answer = await response.json()
  if (response.ok) return answer
  throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
}

/** Base units as a decimal with at least two places. */
function toDecimal(units, decimals) {
  const digits = units.padStart(decimals + 1, '0')
  const places = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0')
  return `${digits.slice(0, -decimals)}.${places}`
}

function nameOf(network) {
  return network === 'bnb' ? 'BNB Chain' : network.charAt(0).toUpperCase() + network.slice(1)
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}
