import type { Branding } from '#shared/payments/row.ts'

/** What of a seller's branding a page may show: checked again here, whoever wrote it into the database. */
export type Look = {
  logo: { url: string; origin: string } | undefined
  colour: { brand: string; onBrand: string } | undefined
}

const COLOUR = /^#[0-9a-f]{6}$/i
/** A host name, an IPv4 or an IPv6 address: a parsed host may hold `;`, which would end a policy's directive. */
const ORIGIN = /^https:\/\/(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/
/** Luminance at which black and white text are equally far from the ground (WCAG 2.2, contrast ratio). */
const LUMINANCE_MIDDLE = 0.179

export function lookOf({ logoUrl, color }: Branding): Look {
  const url = logoUrl === undefined ? null : URL.parse(logoUrl)
  const isSafe = url !== null && ORIGIN.test(url.origin) && url.username === ''
  const isColour = color !== undefined && COLOUR.test(color)
  return {
    logo: isSafe ? { url: url.href, origin: url.origin } : undefined,
    colour: isColour ? { brand: color, onBrand: textOn(color) } : undefined,
  }
}

/** Black or white, whichever is read better on the colour. */
function textOn(colour: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => linear(colour.slice(at, at + 2)))
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  return luminance > LUMINANCE_MIDDLE ? '#000000' : '#ffffff'
}

/** An sRGB channel in linear light (WCAG 2.2, relative luminance). */
function linear(hex: string): number {
  const share = Number.parseInt(hex, 16) / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}
