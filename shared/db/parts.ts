/**
 * Sends many items to the database in parts of at most `countMax`, each far below the server's deadline for a statement, in
 * order: the statements of one transaction run one after the other. While the server works on one part the next is made.
 * Answers what each part answered; rejects with the first failure.
 */
export function inParts<T, R>(
  items: readonly T[],
  countMax: number,
  send: (part: readonly T[]) => Promise<R>,
): Promise<R[]> {
  const parts: (readonly T[])[] = []
  for (let start = 0; start < items.length; start += countMax) {
    parts.push(items.slice(start, start + countMax))
  }
  return Promise.all(parts.map(send))
}
