import type { ErrorCode, ServiceError } from '#shared/errors.ts'
import { settleError } from '../answer.ts'
import type { Route } from '../app.ts'
import type { ApiDeps } from '../deps.ts'
import { type Call, endpoint } from '../endpoint.ts'
import { PRIVATE_HEADERS } from './headers.ts'
import { html } from './html.ts'
import { answerPage, type Frame, type PageView } from './layout/document.ts'
import type { Texts } from './locales/en.ts'
import { chooseLocale, rememberLocale } from './locales/locale.ts'

/** A request for a page. */
export type PageCall<P extends string> = Call<P, 'open', Record<never, never>> & {
  texts: Texts
  /** Goes before the path of every link of ours: what `PUBLIC_URL` has behind its host. */
  base: string
}

type Definition<P extends string> = {
  method: 'GET' | 'POST'
  path: P
  summary: string
  /** Default true. */
  needsDatabase?: boolean
  handle(deps: ApiDeps, call: PageCall<P>): PageView | Response | Promise<PageView | Response>
}

/** Declares a page: an endpoint that people look at, with errors that they can read. */
export function page<const P extends string>(definition: Definition<P>): Route {
  const { method, path, summary, needsDatabase = true } = definition
  return {
    ...endpoint({
      ...{ method, path, summary, needsDatabase, auth: 'open' },
      async handle(deps, call) {
        const frame = frameOf(deps, call.headers, call.request)
        const view = await definition.handle(deps, { ...call, ...frame })
        return view instanceof Response ? view : answerPage(view, frame)
      },
    }),
    answerError(deps, error, headers, request) {
      const frame = frameOf(deps, headers, request)
      return answerPage(problemPage(settleError(deps, error, headers), frame), frame)
    },
  }
}

/** Sends the browser on to a page of ours with a GET (RFC 9110, 15.4.4). */
export function seeOther(base: string, path: string): Response {
  return new Response(null, {
    status: 303,
    headers: { Location: `${base}${path}`, ...PRIVATE_HEADERS },
  })
}

function frameOf({ config }: ApiDeps, headers: Record<string, string>, request: Request): Frame {
  const { pathname, protocol } = new URL(config.publicUrl)
  const base = pathname === '/' ? '' : pathname
  const { texts, isPicked } = chooseLocale(request)
  if (isPicked) {
    headers['Set-Cookie'] = rememberLocale(texts, {
      path: pathname,
      isSecure: protocol === 'https:',
    })
  }
  return { texts, base, headers }
}

/** An error as its reader can use it: what happened to their money, and what to do. */
export function problemPage(
  error: ServiceError,
  { texts, headers }: Pick<Frame, 'texts' | 'headers'>,
): PageView {
  const { problem } = texts
  const { title, say } = problem[problemOf(error.code)]
  const isOurs = error.status >= 500
  return {
    title,
    status: error.status,
    main: html`<section class="card notice">
<h1>${title}</h1>
<p>${say}${isOurs && error.code !== 'unavailable' && html` <code>${headers['X-Request-Id'] ?? ''}</code>`}</p>
${isOurs && html`<p><a class="button" href="">${problem.retry}</a></p>`}
</section>`,
  }
}

type Problem = Exclude<keyof Texts['problem'], 'retry'>

/** The sentence for an error: buyers need not know which of the seller's settings is in the way. */
function problemOf(code: ErrorCode): Problem {
  switch (code) {
    case 'session_closed':
      return 'closed'
    case 'link_inactive':
    case 'price_inactive':
      return 'inactive'
    case 'account_disabled':
    case 'email_unverified':
    case 'volume_cap_reached':
    case 'no_wallet':
      return 'seller'
    case 'rate_limited':
    case 'slots_exhausted':
      return 'busy'
    case 'network_not_accepted':
    case 'token_not_accepted':
      return 'option'
    case 'unavailable':
      return 'unavailable'
    case 'internal_error':
      return 'internal'
    default:
      return code === 'not_found' || code.endsWith('_not_found') ? 'not_found' : 'request'
  }
}
