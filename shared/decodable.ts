/** Whether every % in a part of a URL begins an escape: what decodes it would fail otherwise. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
