/** Octets of a whole address (RFC 5321 section 4.5.3.1.3, less the angle brackets). */
const ADDRESS_LENGTH_MAX = 254
/** Octets before the @ (RFC 5321 section 4.5.3.1.1). */
const LOCAL_PART_LENGTH_MAX = 64

/** Asked first: lowering the case turns a few other letters (the Kelvin sign) into ASCII ones. */
const ASCII_PRINTABLE = /^[\x21-\x7e]+$/
/** RFC 5322's dot-atom: no quotes, no spaces, no empty part between dots. */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
/** Host labels of RFC 1123. One label is enough (`root@localhost`); an address literal is refused. */
const DOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * The one mail address that the text is, in lower case, or undefined. Nothing a mail library could
 * read as a second recipient, a display name or a header passes: ASCII alone, no comma, semicolon,
 * bracket, double quote, white space or control character. Lower case, because no mail provider
 * tells `Ann@` from `ann@` and two accounts must not either.
 */
export function parseMailAddress(text: string): string | undefined {
  if (text.length > ADDRESS_LENGTH_MAX || !ASCII_PRINTABLE.test(text)) return undefined
  const address = text.toLowerCase()
  const at = address.lastIndexOf('@')
  if (at < 1 || at > LOCAL_PART_LENGTH_MAX) return undefined
  return LOCAL_PART.test(address.slice(0, at)) && DOMAIN.test(address.slice(at + 1))
    ? address
    : undefined
}
