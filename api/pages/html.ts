/** No data can bear it, whatever JSON it came in. */
const MADE_HERE: unique symbol = Symbol('made by html')

/** Markup that is safe to send: only {@link html} makes it. */
export type Html = { readonly markup: string; readonly [MADE_HERE]: true }

/** What may stand in a template. Texts and numbers are escaped; nothing is shown for the last three. */
export type HtmlValue = string | number | Html | readonly Html[] | undefined | null | false

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * The one way to make markup. Whatever is put in is escaped for text and for quoted attribute values, which is where
 * templates may put it: never into a script, a style, a tag's name, or an attribute without quotes. The only style
 * that depends on data is the seller's colour, which the layout checks digit by digit.
 */
export function html(template: TemplateStringsArray, ...values: HtmlValue[]): Html {
  const markup = template.reduce((text, part, index) => text + toMarkup(values[index - 1]) + part)
  return { markup, [MADE_HERE]: true }
}

function toMarkup(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return ''
  if (typeof value === 'string') return escapeHtml(value)
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return value.map(toMarkup).join('')
  return MADE_HERE in value ? value.markup : escapeHtml(String(value))
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
