/** What a mail says, before it is text and HTML. All of it is plain text. */
export type Letter = {
  subject: string
  /** Whose mail it is. */
  from: Brand
  title: string
  paragraphs: readonly string[]
  /** Lines of which each is a fact of its own. */
  facts?: readonly string[]
  action?: { label: string; url: string }
  /** Why its reader gets it. */
  footer: string
  /** How to end such mails. */
  end?: { label: string; url: string }
}

/** A seller's looks, or ours. */
export type Brand = {
  name: string
  /** `#rrggbb` */
  color?: string
  /** https */
  logoUrl?: string
  isTest: boolean
}

const COLOR = /^#[0-9a-f]{6}$/i
const COLOR_DEFAULT = '#1f4ed8'
const TEST_NOTE = 'Test mode: no real money moves.'

/** The text part: everything the HTML part says, links in full. */
export function letterText(letter: Letter): string {
  const { title, paragraphs, facts = [], action, footer, end, from } = letter
  return [
    ...(from.isTest ? [TEST_NOTE] : []),
    title,
    ...paragraphs,
    ...(facts.length > 0 ? [facts.map((fact) => `- ${fact}`).join('\n')] : []),
    ...(action === undefined ? [] : [`${action.label}:\n${action.url}`]),
    `-- \n${from.name}\n${footer}${end === undefined ? '' : `\n${end.label}: ${end.url}`}`,
  ].join('\n\n')
}

/** The HTML part: one column, styles in attributes, nothing loaded but the seller's logo. */
export function letterHtml(letter: Letter): string {
  const { title, paragraphs, facts = [], action, footer, end, from } = letter
  const color = from.color !== undefined && COLOR.test(from.color) ? from.color : COLOR_DEFAULT
  const logo = from.logoUrl?.startsWith('https://')
    ? `<img src="${escapeHtml(from.logoUrl)}" alt="" height="40" style="display:block;margin:0 0 12px">`
    : ''
  const items = facts.map((fact) => `<li style="margin:0 0 6px">${escapeHtml(fact)}</li>`).join('')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(letter.subject)}</title></head>
<body style="margin:0;padding:24px;background:#f4f5f7;font:16px/1.5 system-ui,sans-serif;color:#1b1f24">
<div style="max-width:520px;margin:0 auto;padding:28px;background:#ffffff;border-radius:12px;border-top:4px solid ${color};word-break:break-word;overflow-wrap:anywhere">
${logo}<p style="margin:0 0 16px;color:#57606a" dir="auto">${escapeHtml(from.name)}</p>
${from.isTest ? `<p style="margin:0 0 16px;padding:8px 12px;background:#fff3cd;border-radius:6px">${TEST_NOTE}</p>` : ''}
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${escapeHtml(title)}</h1>
${paragraphs.map((text) => `<p style="margin:0 0 16px" dir="auto">${escapeHtml(text)}</p>`).join('\n')}
${items === '' ? '' : `<ul style="margin:0 0 16px;padding:0 0 0 20px">${items}</ul>`}
${action === undefined ? '' : button(action, color)}
<p style="margin:24px 0 0;font-size:13px;color:#57606a">${escapeHtml(footer)}${end === undefined ? '' : `<br>${link(end)}`}</p>
</div></body></html>
`
}

function button({ label, url }: { label: string; url: string }, color: string): string {
  const href = escapeHtml(url)
  const style = `display:inline-block;padding:12px 20px;border-radius:8px;border:2px solid ${color};color:#1b1f24;font-weight:600;text-decoration:none`
  return `<p style="margin:24px 0"><a href="${href}" style="${style}">${escapeHtml(label)}</a></p>
<p style="margin:0;font-size:13px;color:#57606a;word-break:break-all">${href}</p>`
}

function link({ label, url }: { label: string; url: string }): string {
  return `<a href="${escapeHtml(url)}" style="color:#57606a">${escapeHtml(label)}</a>`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
