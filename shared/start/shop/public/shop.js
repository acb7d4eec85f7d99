const { api, key } = document.body.dataset
const POLL_MS = 700
const NETWORKS = { base: 'Base', ethereum: 'Ethereum', bnb: 'BNB Chain', solana: 'Solana' }
const OPEN = ['PENDING', 'DETECTED']
const LOOK = {
  CONFIRMED: 'good',
  OVERPAID: 'good',
  UNDERPAID: 'bad',
  EXPIRED: 'warn',
  CANCELED: 'warn',
}
const WORDS = {
  PENDING: 'Waiting',
  DETECTED: 'Detected',
  CONFIRMED: 'Confirmed',
  OVERPAID: 'Overpaid',
  UNDERPAID: 'Underpaid',
  EXPIRED: 'Expired',
  CANCELED: 'Canceled',
}

/** The payment on show; a click on Buy replaces it. */
let shown = ''
let orderCount = 0
/** Payments that a genuine webhook said are the seller's: by these alone an order ships. */
const shipped = new Set()

const at = (id) => document.getElementById(id)
const put = (id, text) => {
  at(id).textContent = text
}

async function call(method, url, body) {
  const response = await fetch(url, {
    method,
    ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (response.ok) return answer
  throw new Error(answer.error?.message ?? answer.error ?? `the server answered ${response.status}`)
}

/** Runs a button's work once at a time, and shows what went wrong. */
async function during(button, work) {
  button.disabled = true
  at('alert').hidden = true
  try {
    await work()
  } catch (error) {
    put('alert', error.message)
    at('alert').hidden = false
    at('empty').hidden = true
  } finally {
    button.disabled = false
  }
}

/** What the seller can be paid with, as the service says. */
async function loadOptions() {
  const priceId = document.querySelector('[data-price]')?.dataset.price
  const info = await call('POST', `${api}/v1/checkout/info`, { publishableKey: key, priceId })
  at('chips').replaceChildren(
    ...info.options.map((option, index) => {
      const input = document.createElement('input')
      Object.assign(input, { type: 'radio', name: 'option', checked: index === 0 })
      input.value = JSON.stringify(option)
      const label = document.createElement('label')
      const network = NETWORKS[option.network] ?? option.network
      label.append(input, `${option.token.toUpperCase()} on ${network}`)
      return label
    }),
  )
}

async function buy({ dataset }) {
  const chosen = document.querySelector('[name=option]:checked')
  if (!chosen) await loadOptions()
  const { network, token } = JSON.parse(document.querySelector('[name=option]:checked').value)
  orderCount += 1
  const payment = await call('POST', `${api}/v1/checkout`, {
    publishableKey: key,
    priceId: dataset.price,
    network,
    token,
    metadata: { order: `${Date.now().toString(36)}-${orderCount}`, item: dataset.name },
  })
  put('item', `${dataset.name} · $${payment.amount}`)
  shown = payment.paymentId
  show(payment)
  at('checkout').scrollIntoView({ block: 'nearest', behavior: 'smooth' })
  void follow(payment.paymentId)
}

/** Asks for the payment again and again until it has ended, or another one is on show. */
async function follow(paymentId) {
  for (;;) {
    await new Promise((done) => setTimeout(done, POLL_MS))
    if (shown !== paymentId) return
    try {
      const payment = await call('GET', `${api}/v1/payments/${paymentId}`)
      if (shown !== paymentId) return
      show(payment)
      if (!OPEN.includes(payment.status)) return
    } catch {
      // The service is being started again: the next look tells.
    }
  }
}

function show(payment) {
  const { status, confirmations, confirmationsRequired } = payment
  const isOpen = OPEN.includes(status)
  at('empty').hidden = true
  at('payment').hidden = false
  at('payment').dataset.status = status
  put('status', WORDS[status] ?? status)
  at('status').className = `status ${LOOK[status] ?? ''}`
  put('due', exact(payment.amountBaseUnits, payment.decimals))
  put('token', payment.token.toUpperCase())
  put('pay-to', payment.payTo)
  put('network', `${NETWORKS[payment.network] ?? payment.network}, ${payment.decimals} decimals`)
  put('payment-id', payment.paymentId)
  put('expires', new Date(payment.expiresAt).toLocaleString())
  at('tx-row').hidden = !payment.txHash
  put('tx-hash', payment.txHash ?? '')
  showSteps(status)
  const depth = Math.min(confirmations, confirmationsRequired)
  at('bar').ariaValueNow = depth
  at('bar').ariaValueMax = confirmationsRequired
  at('bar-fill').style.width = `${(100 * depth) / confirmationsRequired}%`
  put('depth', `${depth} of ${confirmationsRequired} confirmations`)
  at('actions').hidden = !isOpen
  at('shipped').hidden = !shipped.has(payment.paymentId)
  document.querySelector('[data-cancel]').hidden = status !== 'PENDING'
}

function showSteps(status) {
  const order = ['PENDING', 'DETECTED', 'CONFIRMED']
  const reached = status === 'OVERPAID' || status === 'UNDERPAID' ? 2 : order.indexOf(status)
  for (const [index, step] of [...at('steps').children].entries()) {
    const isDone = index < reached || (index === reached && reached === 2)
    step.className = isDone ? 'done' : index === reached ? 'now' : ''
  }
  put('last-step', status === 'OVERPAID' || status === 'UNDERPAID' ? WORDS[status] : 'Confirmed')
}

/** Base units as an exact decimal: digits only, since numbers would round. */
function exact(baseUnits, decimals) {
  const digits = baseUnits.padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals)
  const fraction = digits.slice(-decimals).replace(/0+$/, '').padEnd(2, '0')
  return `${whole}.${fraction}`
}

let received = 0
function addHook(hook) {
  if (hook.number <= received) return
  received = hook.number
  const item = document.createElement('li')
  const details = document.createElement('details')
  const summary = document.createElement('summary')
  const parts = [
    [
      'span',
      `mark ${hook.isGenuine ? 'good' : 'bad'}`,
      hook.isGenuine ? '✓ signature valid' : `✗ ${hook.verdict}`,
    ],
    ['span', 'type', `${hook.type}${hook.isRepeated ? ' (again)' : ''}`],
    ['time', '', new Date(hook.at).toLocaleTimeString()],
  ]
  for (const [tag, className, text] of parts) {
    const part = document.createElement(tag)
    part.className = className
    part.textContent = text
    summary.append(part)
  }
  const body = document.createElement('pre')
  body.textContent = pretty(hook.body)
  details.append(summary, body)
  item.append(details)
  item.dataset.type = hook.type
  item.dataset.payment = hook.paymentId ?? ''
  at('hooks').prepend(item)
  put('hook-count', `${received} received`)
  if (hook.isGenuine && ['payment.confirmed', 'payment.overpaid'].includes(hook.type)) {
    shipped.add(hook.paymentId)
    if (hook.paymentId === shown) at('shipped').hidden = false
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

document.addEventListener('click', ({ target }) => {
  const button = target.closest('button')
  if (!button) return
  const { way, price, cancel } = button.dataset
  if (price) void during(button, () => buy(button))
  if (way) void during(button, () => call('POST', '/pay', { paymentId: shown, way }))
  if (cancel !== undefined) {
    void during(button, async () => show(await call('POST', `${api}/v1/payments/${shown}/cancel`)))
  }
})

const hooks = new EventSource('/received')
hooks.onmessage = ({ data }) => addHook(JSON.parse(data))
hooks.onopen = () => {
  // A shop that was started again counts from the beginning.
  received = 0
  at('hooks').replaceChildren()
}
loadOptions().catch((error) => {
  put('alert', `The service does not answer: ${error.message}`)
  at('alert').hidden = false
})
