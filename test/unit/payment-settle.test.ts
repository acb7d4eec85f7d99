import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Credit, isNoticed, type SettleTerms, settle } from '#shared/payments/settle.ts'

const DUE = 10_001_234n
const PRICE = 10_000_000n
const terms = (overrides: Partial<SettleTerms> = {}): SettleTerms => ({
  priceBaseUnits: PRICE,
  dueBaseUnits: DUE,
  confirmationsRequired: 12,
  depthBlock: 1_000,
  topUpUntilExpiry: false,
  isWindowClosed: false,
  ...overrides,
})
const credit = (blockNumber: number, amountBaseUnits: bigint, isHeld = false): Credit => ({
  transferId: `trf_${blockNumber}_${amountBaseUnits}`,
  txHash: '0x',
  blockNumber,
  logIndex: 0,
  amountBaseUnits,
  isHeld,
})

const TABLE: [string, Credit[], Partial<SettleTerms>, string | undefined, bigint][] = [
  ['nothing seen decides nothing', [], {}, undefined, 0n],
  ['the due is exact', [credit(100, DUE)], {}, 'exactAtDepth', DUE],
  ['the untailed price is exact', [credit(100, PRICE)], {}, 'exactAtDepth', PRICE],
  [
    'one under the untailed price is short',
    [credit(100, PRICE - 1n)],
    {},
    'lessAtDepth',
    PRICE - 1n,
  ],
  ['one over the due is more', [credit(100, DUE + 1n)], {}, 'moreAtDepth', DUE + 1n],
  ['what is not at depth does not count', [credit(1_001, DUE)], {}, undefined, 0n],
  [
    'two halves at depth add up',
    [credit(100, 5_000_000n), credit(101, 5_001_234n)],
    {},
    'exactAtDepth',
    DUE,
  ],
  ['dust alone decides nothing', [credit(100, DUE / 10n - 1n)], {}, undefined, DUE / 10n - 1n],
  ['a tenth alone is short', [credit(100, DUE / 10n + 1n)], {}, 'lessAtDepth', DUE / 10n + 1n],
  [
    'dust and the rest add up',
    [credit(100, 500_000n), credit(200, DUE - 500_000n)],
    {},
    'exactAtDepth',
    DUE,
  ],
  [
    'a short sum waits for what was seen before it reached depth',
    [credit(100, 5_000_000n), credit(111, 5_001_234n)],
    { depthBlock: 100 },
    undefined,
    5_000_000n,
  ],
  [
    'a short sum does not wait for what came after it reached depth',
    [credit(100, 5_000_000n), credit(112, 5_001_234n)],
    {},
    'lessAtDepth',
    5_000_000n,
  ],
  [
    'an exact sum at depth does not wait for what is on its way',
    [credit(100, DUE), credit(105, DUE)],
    {},
    'exactAtDepth',
    DUE,
  ],
  [
    'twice the due in one block is more',
    [credit(100, DUE), credit(100, DUE + 0n)],
    {},
    'moreAtDepth',
    DUE * 2n,
  ],
  [
    'a store that waits for top-ups leaves a short sum open',
    [credit(100, 5_000_000n)],
    { topUpUntilExpiry: true },
    undefined,
    5_000_000n,
  ],
  [
    'the closed window ends waiting for top-ups',
    [credit(100, 5_000_000n)],
    { topUpUntilExpiry: true, isWindowClosed: true },
    'lessAtDepth',
    5_000_000n,
  ],
  [
    'a top-up long after completes the sum',
    [credit(100, 5_000_000n), credit(500, 5_001_234n)],
    { topUpUntilExpiry: true },
    'exactAtDepth',
    DUE,
  ],
  ['a held transfer does not count', [credit(100, DUE, true)], {}, undefined, 0n],
  [
    'a short sum is not judged while something is held',
    [credit(100, 5_000_000n), credit(101, 5_001_234n, true)],
    {},
    undefined,
    5_000_000n,
  ],
]

for (const [guarantee, credits, overrides, outcome, received] of TABLE) {
  test(guarantee, () => {
    const settlement = settle(credits, terms(overrides))
    assert.equal(settlement.outcome, outcome)
    assert.equal(settlement.receivedBaseUnits, received)
  })
}

test('the tip and a catch-up come to the same outcome, whatever the transfers', () => {
  let seed = 42
  const random = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % limit
  }
  const amounts = [DUE, PRICE, DUE / 2n, DUE / 20n, DUE * 2n, DUE - 5_000_000n, 5_000_000n]
  for (let round = 0; round < 2_000; round += 1) {
    const credits = Array.from({ length: 1 + random(4) }, () =>
      credit(100 + random(30), amounts[random(amounts.length)] ?? DUE),
    )
    const caughtUp = settle(credits, terms())
    let atTip: ReturnType<typeof settle> | undefined
    for (let position = 100; position <= 200 && !atTip?.outcome; position += 1) {
      const seen = credits.filter(({ blockNumber }) => blockNumber <= position)
      atTip = settle(seen, terms({ depthBlock: position - 11 }))
    }
    assert.equal(atTip?.outcome, caughtUp.outcome)
    assert.equal(atTip?.receivedBaseUnits, caughtUp.receivedBaseUnits)
  }
})

test('ten percent of the due is noticed, one base unit less is not', () => {
  assert.equal(isNoticed(100n, 1_000n), true)
  assert.equal(isNoticed(99n, 1_000n), false)
})
