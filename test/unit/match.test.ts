import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credit } from '#shared/payments/settle.ts'
import {
  type Arrival,
  type Candidate,
  type CandidateKind,
  type Decision,
  matchTransfer,
} from '../../indexer/match.ts'

const AT = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const terms = { clockToleranceMs: 30_000, quarantineMs: 24 * HOUR }

const arrival = (overrides: Partial<Arrival> = {}): Arrival => ({
  deployment: 'base:test',
  token: 'usdc',
  contract: '0xA',
  blockNumber: 100,
  blockTimeMs: AT,
  amountBaseUnits: 10_001_234n,
  ...overrides,
})
const candidate = (
  kind: CandidateKind,
  paymentId: string,
  overrides: Partial<Candidate> = {},
): Candidate => ({
  kind,
  paymentId,
  deployment: 'base:test',
  token: 'usdc',
  contract: '0xA',
  status: 'PENDING',
  dueBaseUnits: 10_001_234n,
  createdAt: new Date(AT - 10 * MINUTE),
  expiresAt: new Date(AT + 50 * MINUTE),
  settledAt: null,
  positionBlock: 90,
  guessOnSharedAddress: true,
  previousPaymentId: null,
  topUpUntilExpiry: false,
  priceBaseUnits: 10_000_000n,
  confirmationsRequired: 12,
  credits: [],
  ...overrides,
})
const credit = (blockNumber: number, amountBaseUnits = 10_001_234n): Credit => ({
  ...{ transferId: 't', txHash: '0x', blockNumber, logIndex: 0, amountBaseUnits, isHeld: false },
})
const ended = (status: Candidate['status'], agoMs: number): Partial<Candidate> => ({
  status,
  settledAt: new Date(AT - agoMs),
})
const to = (rule: string, paymentId: string): Decision =>
  ({ state: 'MATCHED', rule, paymentId }) as Decision
const not = (rule: string, reason: string, ...candidates: string[]): Decision =>
  ({ state: 'UNMATCHED', rule, reason, candidates }) as Decision

const TABLE: [string, Arrival, Candidate[], Decision][] = [
  // Rule 2
  [
    'an exclusive address belongs to its payment, whatever the amount',
    arrival({ amountBaseUnits: 7n }),
    [candidate('exclusive', 'a')],
    to('exclusive', 'a'),
  ],
  [
    'an exclusive address whose payment is detected still belongs to it',
    arrival(),
    [candidate('exclusive', 'a', { status: 'DETECTED' })],
    to('exclusive', 'a'),
  ],
  [
    'an exclusive address whose payment ended is LATE',
    arrival(),
    [candidate('exclusive', 'a', ended('EXPIRED', HOUR))],
    not('exclusive', 'LATE', 'a'),
  ],
  [
    'an exclusive address whose window the block is past is LATE',
    arrival(),
    [candidate('exclusive', 'a', { expiresAt: new Date(AT - 1) })],
    not('exclusive', 'LATE', 'a'),
  ],
  [
    'an exclusive address before its payment existed is NO_SLOT',
    arrival({ blockNumber: 90 }),
    [candidate('exclusive', 'a')],
    not('exclusive', 'NO_SLOT', 'a'),
  ],
  [
    'an exclusive address on another network is WRONG_NETWORK',
    arrival({ deployment: 'bnb:test' }),
    [candidate('exclusive', 'a')],
    not('elsewhere', 'WRONG_NETWORK', 'a'),
  ],
  [
    'an exclusive address in another token is WRONG_TOKEN',
    arrival({ token: 'usdt' }),
    [candidate('exclusive', 'a')],
    not('elsewhere', 'WRONG_TOKEN', 'a'),
  ],
  [
    'an exclusive address in another contract of that name is WRONG_TOKEN',
    arrival({ contract: '0xB' }),
    [candidate('exclusive', 'a')],
    not('elsewhere', 'WRONG_TOKEN', 'a'),
  ],
  [
    'an exact amount in another contract of that name is WRONG_TOKEN',
    arrival({ contract: '0xB' }),
    [candidate('exact', 'a')],
    not('elsewhere', 'WRONG_TOKEN', 'a'),
  ],
  [
    'a reference key names its payment',
    arrival({ amountBaseUnits: 5n }),
    [candidate('reference', 'a'), candidate('exact', 'b')],
    to('reference', 'a'),
  ],
  [
    'the reference keys of two payments are AMBIGUOUS',
    arrival(),
    [candidate('reference', 'a'), candidate('reference', 'b'), candidate('exact', 'a')],
    not('reference', 'AMBIGUOUS', 'a', 'b'),
  ],
  // Rule 3
  [
    'exactly a slot’s amount belongs to its payment',
    arrival(),
    [candidate('exact', 'a'), candidate('near', 'a'), candidate('near', 'b')],
    to('exact', 'a'),
  ],
  [
    'exactly a slot’s amount at the last moment of the window belongs to it',
    arrival(),
    [candidate('exact', 'a', { expiresAt: new Date(AT) })],
    to('exact', 'a'),
  ],
  [
    'exactly a slot’s amount after a cancel is LATE',
    arrival(),
    [candidate('exact', 'a', ended('CANCELED', -HOUR))],
    not('exact', 'LATE', 'a'),
  ],
  [
    'exactly a slot’s amount after CONFIRMED is LATE',
    arrival(),
    [candidate('exact', 'a', ended('CONFIRMED', MINUTE))],
    not('exact', 'LATE', 'a'),
  ],
  [
    'exactly the amount of a reused slot is AMBIGUOUS',
    arrival(),
    [candidate('exact', 'b', { previousPaymentId: 'a' })],
    not('exact', 'AMBIGUOUS', 'b', 'a'),
  ],
  [
    'exactly the amount of a reused slot before its reuse is LATE for the previous holder',
    arrival({ blockNumber: 90 }),
    [candidate('exact', 'b', { previousPaymentId: 'a' })],
    not('exact', 'LATE', 'a'),
  ],
  [
    'a block at the position of the claim is older than the payment',
    arrival({ blockNumber: 90 }),
    [candidate('exact', 'a')],
    not('exact', 'NO_SLOT', 'a'),
  ],
  [
    'a block right after the position of the claim is not',
    arrival({ blockNumber: 91 }),
    [candidate('exact', 'a')],
    to('exact', 'a'),
  ],
  [
    'a block 30 s before the payment is within the clocks’ tolerance',
    arrival(),
    [candidate('exact', 'a', { createdAt: new Date(AT + 30_000) })],
    to('exact', 'a'),
  ],
  [
    'a block more than 30 s before the payment is older',
    arrival(),
    [candidate('exact', 'a', { createdAt: new Date(AT + 30_001) })],
    not('exact', 'NO_SLOT', 'a'),
  ],
  // Rule 4
  [
    'another amount with one open candidate belongs to it',
    arrival({ amountBaseUnits: 9_500_000n }),
    [candidate('near', 'a')],
    to('nearest', 'a'),
  ],
  [
    'ten percent is enough',
    arrival({ amountBaseUnits: 1_000_124n }),
    [candidate('near', 'a')],
    to('nearest', 'a'),
  ],
  [
    'under ten percent of every due is DUST',
    arrival({ amountBaseUnits: 1_000_123n }),
    [candidate('near', 'a'), candidate('lowest', 'a')],
    not('none', 'DUST'),
  ],
  [
    'two hundred percent is not too much',
    arrival({ amountBaseUnits: 20_002_468n }),
    [candidate('near', 'a')],
    to('nearest', 'a'),
  ],
  [
    'over two hundred percent is NO_SLOT',
    arrival({ amountBaseUnits: 20_002_469n }),
    [candidate('near', 'a'), candidate('lowest', 'a')],
    not('none', 'NO_SLOT'),
  ],
  [
    'several candidates are AMBIGUOUS, the nearest first',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'far', { dueBaseUnits: 15_000_000n }), candidate('near', 'close')],
    not('nearest', 'AMBIGUOUS', 'close', 'far'),
  ],
  [
    'one open and one recently expired candidate are AMBIGUOUS',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a'), candidate('near', 'b', ended('EXPIRED', HOUR))],
    not('nearest', 'AMBIGUOUS', 'a', 'b'),
  ],
  [
    'one recently ended candidate is LATE',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a', ended('CANCELED', HOUR))],
    not('nearest', 'LATE', 'a'),
  ],
  [
    'a candidate that ended more than 24 h before is none',
    arrival({ amountBaseUnits: 9_000_000n }),
    [
      candidate('near', 'a', {
        ...ended('EXPIRED', 24 * HOUR + 1),
        createdAt: new Date(AT - 40 * HOUR),
        expiresAt: new Date(AT - 25 * HOUR),
      }),
    ],
    not('none', 'NO_SLOT'),
  ],
  [
    'a candidate that was paid is none',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a', ended('CONFIRMED', HOUR))],
    not('none', 'NO_SLOT'),
  ],
  [
    'an open candidate that was paid deep enough before the block is none, however late it is settled',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a', { credits: [credit(88)] }), candidate('near', 'b')],
    to('nearest', 'b'),
  ],
  [
    'one whose money was not at depth before the block is still a candidate',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a', { credits: [credit(89)] }), candidate('near', 'b')],
    not('nearest', 'AMBIGUOUS', 'a', 'b'),
  ],
  [
    'one that was paid in a later block is still a candidate',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a', { credits: [credit(101)] }), candidate('near', 'b')],
    not('nearest', 'AMBIGUOUS', 'a', 'b'),
  ],
  [
    'one that had received too little before the block and waits for a top-up is a candidate',
    arrival({ amountBaseUnits: 5_000_000n }),
    [candidate('near', 'a', { credits: [credit(50, 5_000_000n)], topUpUntilExpiry: true })],
    to('nearest', 'a'),
  ],
  [
    'one whose window the block is past, with money seen by then, is none',
    arrival({ amountBaseUnits: 9_000_000n }),
    [
      candidate('near', 'a', { credits: [credit(95)], expiresAt: new Date(AT - MINUTE) }),
      candidate('near', 'b'),
    ],
    to('nearest', 'b'),
  ],
  [
    'a candidate that came later is none',
    arrival({ amountBaseUnits: 9_000_000n, blockNumber: 90 }),
    [candidate('near', 'a')],
    not('none', 'NO_SLOT'),
  ],
  [
    'a store that does not guess gets it in its inbox',
    arrival({ amountBaseUnits: 9_000_000n }),
    [candidate('near', 'a', { guessOnSharedAddress: false })],
    not('nearest', 'NO_SLOT', 'a'),
  ],
  // Rule 5
  [
    'an amount awaited on another network is WRONG_NETWORK',
    arrival(),
    [candidate('elsewhere', 'a', { deployment: 'ethereum:test' })],
    not('elsewhere', 'WRONG_NETWORK', 'a'),
  ],
  [
    'an amount awaited in another token is WRONG_TOKEN',
    arrival(),
    [candidate('elsewhere', 'a', { token: 'usdt' })],
    not('elsewhere', 'WRONG_TOKEN', 'a'),
  ],
  [
    'an amount that was awaited elsewhere and ended is NO_SLOT',
    arrival(),
    [candidate('elsewhere', 'a', { token: 'usdt', ...ended('EXPIRED', HOUR) })],
    not('none', 'NO_SLOT'),
  ],
  ['nobody there is NO_SLOT', arrival(), [], not('none', 'NO_SLOT')],
]

for (const [guarantee, seen, candidates, expected] of TABLE) {
  test(guarantee, () => {
    assert.deepEqual(matchTransfer(seen, candidates, terms), expected)
  })
}
