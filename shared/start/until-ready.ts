/** Milliseconds for a process of ours to answer after it was started, and for the networks to be followed. */
const ANSWER_TIMEOUT_MS = 30_000
const NETWORKS_TIMEOUT_MS = 20_000
const POLL_MS = 50
const REQUEST_TIMEOUT_MS = 2_000

/** Waits until a URL answers 200. Throws one sentence when it does not in time. */
export async function untilOk(url: string, what: string): Promise<void> {
  const deadline = performance.now() + ANSWER_TIMEOUT_MS
  while ((await ask(url))?.status !== 200) {
    if (performance.now() > deadline) {
      throw new Error(`${what} does not answer at ${url}: see its log`)
    }
    await wait(POLL_MS)
  }
}

/** Waits until the API can do its work and every network that is on is followed; answers those that are not. */
export async function untilNetworksRun(apiUrl: string): Promise<string[]> {
  const deadline = performance.now() + NETWORKS_TIMEOUT_MS
  for (;;) {
    const answer = await ask(`${apiUrl}/readyz`)
    const faults = answer?.status === 200 ? faultsIn(answer.text) : ['the API is not ready']
    if (faults.length === 0 || performance.now() > deadline) return faults
    await wait(POLL_MS)
  }
}

/** The API's documentation for people, or else for tools. */
export async function findDocs(apiUrl: string): Promise<string> {
  const path = '/docs'
  return (await ask(`${apiUrl}${path}`))?.status === 200 ? path : '/openapi.json'
}

function faultsIn(text: string): string[] {
  const { networks = [] } = JSON.parse(text) as {
    networks?: { deployment: string; state: string }[]
  }
  return networks.map(({ deployment, state }) => `${deployment} is ${state}`)
}

async function ask(url: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    return { status: response.status, text: await response.text() }
  } catch {
    // Not listening yet.
    return undefined
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
