// The payment page, alive. The server writes every word; this exchanges the parts that the server has anew, counts the
// time down and copies. Without it the page works by being loaded again.

/** Milliseconds between two looks when nothing is streamed, and the looks after which a quiet stream is doubted. */
const POLL_MS = 5_000
const QUIET_POLLS_MAX = 6
/** Milliseconds after which an answer is given up. */
const TIMEOUT_MS = 10_000
/** Milliseconds for which a button says that it has copied. */
const DONE_MS = 2_000

const payment = document.getElementById('payment')
/** Each part as the server sent it, before anything here changed it. */
const served = new Map()
let clockOffsetMs = 0
let quietPolls = QUIET_POLLS_MAX
let isRefreshing = false
let isStale = false
/** @type {EventSource | undefined} */
let stream

start()

function start() {
  takeParts(payment)
  setClock()
  prepare()
  setInterval(countDown, 250)
  setInterval(poll, POLL_MS)
  document.addEventListener('visibilitychange', () => {
    // A phone that slept has a stream that died in silence.
    if (!document.hidden && isLive()) void look()
  })
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button[data-copy]') : null
    if (button) void copy(button)
  })
  listen()
}

function isLive() {
  return payment.dataset.live === 'true'
}

function listen() {
  stream = new EventSource(`${payment.dataset.url}/stream`)
  stream.onmessage = ({ data }) => {
    quietPolls = 0
    setOnline(true)
    compare(JSON.parse(data))
  }
}

/** Looks by itself while the stream says nothing, and now and then in any case. */
function poll() {
  if (!isLive() || document.hidden) return
  const isStreaming = stream?.readyState === EventSource.OPEN && quietPolls < QUIET_POLLS_MAX
  quietPolls += 1
  if (isStreaming) return
  void look()
}

async function look() {
  try {
    const response = await fetch(payment.dataset.url, timeout())
    if (!response.ok) throw new Error(String(response.status))
    setOnline(true)
    compare(await response.json())
  } catch {
    setOnline(false)
  }
}

function compare({ status, confirmations, txHash }) {
  const version = `${status}:${confirmations}:${txHash ?? ''}`
  if (version !== payment.dataset.version) void refresh()
}

/** Asks for the page and exchanges the parts that differ; asked again meanwhile, does it once more. */
async function refresh() {
  isStale = true
  if (isRefreshing) return
  isRefreshing = true
  while (isStale) {
    isStale = false
    try {
      const response = await fetch(location.href, timeout())
      if (!response.ok) throw new Error(String(response.status))
      exchange(parse(await response.text()))
      setOnline(true)
    } catch {
      // The next poll finds the same difference.
      setOnline(false)
    }
  }
  isRefreshing = false
}

/** Without the head: its style bears the other answer's nonce, which this page's policy refuses aloud. */
function parse(text) {
  return new DOMParser().parseFromString(text.slice(text.indexOf('<body>')), 'text/html')
}

function exchange(page) {
  const next = page.getElementById('payment')
  if (!next) return
  document.title = next.dataset.title
  Object.assign(payment.dataset, next.dataset)
  setClock()
  for (const part of next.querySelectorAll('[data-part]')) {
    const { part: name } = part.dataset
    if (served.get(name) === part.innerHTML) continue
    served.set(name, part.innerHTML)
    exchangePart(payment.querySelector(`[data-part="${name}"]`), part)
  }
  prepare()
  if (!isLive()) stream?.close()
}

function exchangePart(old, part) {
  // The heading's frame stays and gets new words: a screen reader announces a change, not a new element.
  const frame = old.querySelector('[data-heading]')
  const nextFrame = part.querySelector('[data-heading]')
  const hadFocus = old.contains(document.activeElement)
  if (frame && nextFrame) {
    if (frame.textContent !== nextFrame.textContent) {
      frame.replaceChildren(...nextFrame.childNodes)
    }
    nextFrame.replaceWith(frame)
  }
  old.replaceChildren(...part.childNodes)
  if (hadFocus) focusOn(payment.querySelector('h1'))
}

function focusOn(element) {
  element.tabIndex = -1
  element.focus()
}

function takeParts(root) {
  for (const part of root.querySelectorAll('[data-part]')) {
    served.set(part.dataset.part, part.innerHTML)
  }
}

/** What only a script can do is shown only now. */
function prepare() {
  for (const button of payment.querySelectorAll('button[data-copy]')) button.hidden = false
  countDown()
}

/** The server's clock decides; ours only counts on from it. */
function setClock() {
  clockOffsetMs = Number(payment.dataset.now) - Date.now()
}

function countDown() {
  const clock = payment.querySelector('[data-countdown]')
  if (!clock) return
  const leftMs = Number(payment.dataset.expires) - Date.now() - clockOffsetMs
  const left = Math.max(0, Math.ceil(leftMs / 1000))
  const hours = Math.floor(left / 3600)
  const minutes = Math.floor((left % 3600) / 60)
  const text = [...(hours > 0 ? [hours] : []), minutes, left % 60]
    .map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0')))
    .join(':')
  if (clock.textContent !== text) clock.textContent = text
  clock.classList.toggle('soon', left < 300)
  if (left === 0 && payment.dataset.state === 'PENDING' && !isRefreshing) void refresh()
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy)
  const hasCopied = await write(source)
  const { done, selected } = button.dataset
  const { textContent, ariaLabel } = button
  if (button.dataset.busy) return
  button.dataset.busy = 'true'
  button.textContent = button.ariaLabel = hasCopied ? done : selected
  button.classList.toggle('done', hasCopied)
  setTimeout(() => {
    button.textContent = textContent
    button.ariaLabel = ariaLabel
    button.classList.remove('done')
    delete button.dataset.busy
  }, DONE_MS)
}

/** Without a secure context there is no clipboard to write to: the text is selected, and copied the old way if that works. */
async function write(source) {
  try {
    await navigator.clipboard.writeText(source.textContent)
    return true
  } catch {
    getSelection().selectAllChildren(source)
    return document.execCommand('copy')
  }
}

function setOnline(isOnline) {
  payment.querySelector('[data-offline]').hidden = isOnline
}

function timeout() {
  return { signal: AbortSignal.timeout(TIMEOUT_MS), cache: 'no-store' }
}
