import { randomBytes } from 'node:crypto'
import type { Branding } from '#shared/payments/row.ts'
import { type Asset, asset } from '../assets.ts'
import { pageHeaders } from '../headers.ts'
import { type Html, html } from '../html.ts'
import type { Texts } from '../locales/en.ts'
import { LOCALES } from '../locales/locale.ts'
import { type Look, lookOf } from './branding.ts'

/** What a page shows; the frame around it is everywhere the same. */
export type PageView = {
  title: string
  /** What stands in `<main>`. */
  main: Html
  /** Whose page it is; our own without one. */
  seller?: { name: string; branding: Branding }
  isTest?: boolean
  style?: Asset
  script?: Asset
  /** Seconds after which a browser without scripts looks again. */
  refreshSeconds?: number
  /** Default 200. */
  status?: number
  /** What the page's address needs besides the language when another one is picked; 'none' shows no picker. */
  picker?: Readonly<Record<string, string>> | 'none'
}

export type Frame = {
  texts: Texts
  /** The path that `PUBLIC_URL` has, without a slash at its end: '' mostly. */
  base: string
  headers: Record<string, string>
}

const NONCE_BYTES = 16
const LAYOUT_STYLE = asset('layout', 'style', 'css')

/** The whole answer: document and headers. */
export function answerPage(view: PageView, frame: Frame): Response {
  const nonce = randomBytes(NONCE_BYTES).toString('base64')
  const look = lookOf(view.seller?.branding ?? {})
  Object.assign(
    frame.headers,
    pageHeaders({ nonce, logoOrigin: look.logo?.origin, hasScript: view.script !== undefined }),
    { 'Content-Language': frame.texts.language },
  )
  const { markup } = documentOf(view, frame, look, nonce)
  return new Response(`<!doctype html>\n${markup}`, {
    status: view.status ?? 200,
    headers: frame.headers,
  })
}

function documentOf(view: PageView, { texts, base }: Frame, look: Look, nonce: string): Html {
  const { title, main, seller, style, script, refreshSeconds } = view
  const link = ({ name }: Asset) =>
    html`<link rel="stylesheet" href="${base}/assets/${name}" nonce="${nonce}">`
  return html`<html lang="${texts.language}" dir="${texts.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="format-detection" content="telephone=no">
<title>${title}</title>
${link(LAYOUT_STYLE)}
${style && link(style)}
${look.colour && html`<style nonce="${nonce}">:root{--brand:${look.colour.brand};--on-brand:${look.colour.onBrand}}</style>`}
${refreshSeconds !== undefined && html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
${script && html`<script src="${base}/assets/${script.name}" nonce="${nonce}" defer></script>`}
</head>
<body>
${view.isTest === true && html`<p class="test-mode">${texts.testMode}</p>`}
${seller && html`<header class="seller">${logo(look)}<span class="seller-name" dir="auto">${seller.name}</span></header>`}
<main>${main}</main>
${seller && html`<footer>${texts.poweredBy}</footer>`}
${view.picker !== 'none' && picker(texts, view.picker ?? {})}
</body>
</html>
`
}

/** Plain links to the same page, so that a language is picked without a script. */
function picker(texts: Texts, query: Readonly<Record<string, string>>): Html {
  const links = LOCALES.map(({ language, languageName }) => {
    const href = `?${new URLSearchParams({ ...query, lang: language })}`
    const current = language === texts.language && html` aria-current="true"`
    return html`<a href="${href}" lang="${language}" hreflang="${language}" rel="nofollow"${current}>${languageName}</a> `
  })
  return html`<nav class="languages" aria-label="${texts.languages}">${links}</nav>`
}

/** The name beside it says whose it is, so the logo needs no text of its own. */
function logo({ logo }: Look): Html | undefined {
  return (
    logo &&
    html`<img class="logo" src="${logo.url}" alt="" width="40" height="40" referrerpolicy="no-referrer" decoding="async">`
  )
}
