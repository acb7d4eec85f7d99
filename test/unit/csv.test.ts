import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PAYMENT_TRIGGERS } from '#shared/payments/machine.ts'
import { csvLine, isCsvAccepted, streamText } from '../../api/store-payments/csv.ts'
import { explainMove, explainTransfer } from '../../api/store-payments/explain.ts'

test('cells that a spreadsheet would run are made texts', () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r']) {
    const line = csvLine([`${start}1`])
    assert.ok(line.startsWith("'") || line.startsWith('"\''), JSON.stringify(line))
  }
})

test('cells with commas, quotes or line ends are quoted, and absent ones are empty', () => {
  assert.equal(
    csvLine(['a,b', 'say "x"', 'two\nlines', null, undefined, 0, '']),
    '"a,b","say ""x""","two\nlines",,,0,\r\n',
  )
})

test('CSV is answered to those who name it', () => {
  for (const accept of ['text/csv', 'TEXT/CSV; q=0.5', 'application/json;q=0.1, text/csv']) {
    assert.ok(isCsvAccepted(accept), accept)
  }
  for (const accept of [
    null,
    '',
    '*/*',
    'text/*',
    'application/json',
    'text/csv;q=0',
    'application/json, text/csv;q=0.5',
    'text/csv;q=much',
    'text/csvx',
  ]) {
    assert.ok(!isCsvAccepted(accept), String(accept))
  }
})

test('a streamed body is made no faster than it is read', async () => {
  let madeCount = 0
  const stream = streamText(
    async () => {
      madeCount += 1
      return madeCount > 1_000 ? undefined : 'line\r\n'
    },
    () => assert.fail('nothing went wrong'),
  )
  const reader = stream.getReader()
  await reader.read()
  await reader.read()
  assert.equal(madeCount, 2)
  await reader.cancel()
  assert.equal(madeCount, 2)
})

test('a body whose reader leaves while a piece is being made ends without an error', async () => {
  const piece = Promise.withResolvers<string>()
  const stream = streamText(
    () => piece.promise,
    () => assert.fail('nothing went wrong'),
  )
  const reader = stream.getReader()
  const reading = reader.read()
  await reader.cancel()
  piece.resolve('late')
  assert.equal((await reading).done, true)
  await piece.promise
})

test('a streamed body that cannot go on is cut off, not ended', async () => {
  const errors: unknown[] = []
  const broken = new Error('the database went away')
  const stream = streamText(
    () => Promise.reject(broken),
    (error) => errors.push(error),
  )
  await assert.rejects(() => stream.getReader().read(), broken)
  assert.deepEqual(errors, [broken])
})

test('every rule, reason and trigger is explained in a sentence', () => {
  const facts = { isFinal: false, isHeld: false, isThisPayments: true, reason: null }
  for (const rule of ['exclusive', 'reference', 'exact', 'nearest', 'attached']) {
    const text = explainTransfer({ ...facts, state: 'MATCHED', rule })
    assert.match(text, /^Taken (by rule [2-5]|because).*\. It is not at depth yet\.$/)
  }
  for (const reason of [
    'LATE',
    'AMBIGUOUS',
    'NO_SLOT',
    'DUST',
    'WRONG_NETWORK',
    'WRONG_TOKEN',
  ] as const) {
    const text = explainTransfer({ ...facts, state: 'UNMATCHED', rule: 'none', reason })
    assert.ok(text.startsWith('Refused') && text.includes(reason) && text.endsWith('.'), text)
    assert.match(
      explainTransfer({ ...facts, state: 'RESOLVED', rule: 'none', reason }),
      /resolved it\.$/,
    )
  }
  for (const rule of ['exclusive', 'reference', 'exact']) {
    const early = { ...facts, state: 'UNMATCHED' as const, rule, reason: 'NO_SLOT' as const }
    assert.match(explainTransfer(early), /^Refused as NO_SLOT: its block is older than the payment/)
    assert.match(explainTransfer({ ...early, reason: 'LATE' }), /^Refused as LATE/)
    assert.match(explainTransfer({ ...early, rule: 'nearest' }), /does not guess/)
  }
  const released = { ...facts, state: 'UNMATCHED' as const, rule: 'released' }
  assert.match(explainTransfer({ ...released, reason: 'LATE' }), /^Released as LATE/)
  assert.match(explainTransfer({ ...facts, state: 'RETRACTED', rule: 'exact' }), /^Taken back/)
  const given = { ...facts, state: 'MATCHED' as const, rule: 'attached', isThisPayments: false }
  assert.match(explainTransfer(given), /another payment/)
  const sentences = PAYMENT_TRIGGERS.map(explainMove)
  assert.equal(new Set(sentences).size, PAYMENT_TRIGGERS.length)
})
