import { ar } from './ar.ts'
import { de } from './de.ts'
import { en, type Texts } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { hi } from './hi.ts'
import { id } from './id.ts'
import { ja } from './ja.ts'
import { pt } from './pt.ts'
import { ru } from './ru.ts'
import { tr } from './tr.ts'
import { uk } from './uk.ts'
import { vi } from './vi.ts'
import { zh } from './zh.ts'

/** Every language of the pages (contract section 8), in the picker's order; the first where nothing else is asked for. */
export const LOCALES: readonly Texts[] = [en, es, pt, fr, de, tr, ru, uk, ar, hi, id, vi, zh, ja]

/** The cookie of a picked language: two letters, which tell nobody from anybody. */
const COOKIE = 'lang'
/** Seconds a picked language is remembered: a year. */
const REMEMBER_S = 365 * 24 * 3_600
/** Languages of one Accept-Language header that are looked at. */
const RANGES_MAX = 20

/** The language picked in this request, else the one picked before, else the first that the browser asks for and we have. */
export function chooseLocale(request: Request): { texts: Texts; isPicked: boolean } {
  const picked = find(new URL(request.url).searchParams.get('lang'))
  if (picked !== undefined) return { texts: picked, isPicked: true }
  const cookies = request.headers.get('cookie') ?? ''
  const remembered = find(new RegExp(`(?:^|;\\s*)${COOKIE}=([a-z]{2})(?:;|$)`).exec(cookies)?.[1])
  const texts = remembered ?? accepted(request.headers.get('accept-language') ?? '') ?? en
  return { texts, isPicked: false }
}

/** The Set-Cookie header that remembers a picked language. */
export function rememberLocale(
  { language }: Texts,
  { path, isSecure }: { path: string; isSecure: boolean },
): string {
  const flags = `Path=${path}; Max-Age=${REMEMBER_S}; SameSite=Lax; HttpOnly`
  return `${COOKIE}=${language}; ${flags}${isSecure ? '; Secure' : ''}`
}

/** The best of an Accept-Language header (RFC 9110, 12.5.4) by its language alone: `pt-BR` is `pt`. */
function accepted(header: string): Texts | undefined {
  const ranges = header
    .split(',', RANGES_MAX)
    .map((range) => {
      const [tag = '', ...parameters] = range
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/)
      const weight = parameters.find((one) => one.startsWith('q='))?.slice(2) ?? '1'
      return { language: tag.split('-', 1)[0], weight: Number(weight) || 0 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
  for (const { language } of ranges) {
    const texts = find(language)
    if (texts !== undefined) return texts
  }
  return undefined
}

function find(language: string | null | undefined): Texts | undefined {
  return LOCALES.find((texts) => texts.language === language)
}
