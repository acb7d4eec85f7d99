import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Address,
  generateKeyPairSigner,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit'
import { silentLog } from '#shared/log.ts'
import {
  associatedAccount,
  closeAccount,
  createAccount,
  createAssociated,
  FEE_MINT_BYTES,
  initializeAccount,
  initializeMint,
  initializeTransferFee,
  mintTo,
  recoverNested,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  transfer,
} from '#shared/start/solana/token.ts'
import type { Driver, Observation } from '../../indexer/drivers/driver.ts'
import { createSolanaDriver } from '../../indexer/drivers/solana.ts'
import { type SubmitOptions, type SvmChain, startSvmChain } from '../support/svm.ts'
import { deploymentOf } from '../support/svm-follow.ts'

/** Milliseconds: a chain is made once, then everything is quick. */
const timeout = 30_000
let chain: SvmChain
let feeMint: KeyPairSigner
let seller: KeyPairSigner
let other: KeyPairSigner
const drivers: Driver[] = []

before(
  async () => {
    chain = await startSvmChain()
    ;[feeMint, seller, other] = (await Promise.all(
      [1, 2, 3].map(() => generateKeyPairSigner()),
    )) as [KeyPairSigner, KeyPairSigner, KeyPairSigner]
    chain.ledger.airdrop(seller.address, 10n ** 10n)
    const { buyer } = chain
    const lamports = chain.ledger.rentOf(FEE_MINT_BYTES)
    const program = TOKEN_2022_PROGRAM
    await run([
      createAccount(buyer, feeMint, { lamports, bytes: FEE_MINT_BYTES, program }),
      // One percent of each transfer.
      initializeTransferFee(feeMint.address, 100),
      initializeMint(feeMint.address, { decimals: 6, authority: buyer.address, program }),
      await createAssociated(buyer, buyer.address, feeMint.address, program),
      mintTo(
        feeMint.address,
        await at(buyer.address, feeMint.address, program),
        buyer,
        10n ** 12n,
        program,
      ),
      await createAssociated(buyer, seller.address, chain.mints.usdc),
    ])
  },
  { timeout },
)
after(
  async () => {
    await Promise.all(drivers.map((driver) => driver.stop()))
    await chain.stop()
  },
  { timeout },
)

const at = associatedAccount

/** Runs instructions as one transaction in a block of its own, confirmed. */
async function run(instructions: Instruction[], options?: SubmitOptions): Promise<string> {
  const signature = await chain.submit(instructions, options)
  chain.produce(2)
  const sealed = chain.ledger.blocks.at(-2)?.transactions.find((one) => one.signature === signature)
  assert.ok(sealed, 'the transaction is in its block')
  return signature
}

/** What both ways of reading say of the blocks that `play` makes; they have to agree. */
async function seenOf(
  play: () => Promise<unknown>,
  tokens?: { usdc: Address },
): Promise<Observation[]> {
  const readings: Observation[][] = []
  const pair = await Promise.all(
    ['blocks' as const, 'accounts' as const].map(async (reading) => {
      const deployment = deploymentOf(chain, [chain.node.httpUrl], reading)
      if (tokens) deployment.tokens = { usdc: { contract: tokens.usdc, decimals: 6 } }
      const driver = createSolanaDriver({ deployment, log: silentLog, nowMs: () => Date.now() })
      drivers.push(driver)
      await driver.check()
      return { driver, from: (await driver.head()).number + 1 }
    }),
  )
  await play()
  for (const { driver, from } of pair) {
    const to = (await driver.head()).number
    await driver.expect?.([seller.address, other.address])
    readings.push((await driver.rangeWithTransfers(from, to)).transfers)
  }
  const [byBlocks = [], byAccounts = []] = readings
  const mine = byBlocks.filter(({ to }) => to === seller.address || to === other.address)
  assert.deepEqual(
    byAccounts.filter(({ to }) => to === seller.address || to === other.address),
    mine,
  )
  return mine
}

const amounts = (seen: Observation[]) =>
  seen.map(({ to, amountBaseUnits }) => [to, amountBaseUnits])

async function pay(
  amount: bigint,
  options: { checked?: boolean; to?: Address; references?: Address[] } = {},
) {
  const { buyer, mints } = chain
  return transfer({
    from: await at(buyer.address, mints.usdc),
    to: await at(options.to ?? seller.address, mints.usdc),
    owner: buyer,
    amount,
    ...(options.checked === false ? {} : { checked: { mint: mints.usdc, decimals: 6 } }),
    ...(options.references ? { references: options.references } : {}),
  })
}

for (const version of ['legacy', 0, 1] as const) {
  test(`a transfer in a transaction of version ${version} is seen`, { timeout }, async () => {
    const seen = await seenOf(async () => run([await pay(5_000_001n)], { version }))
    assert.deepEqual(amounts(seen), [[seller.address, 5_000_001n]])
  })
}

test('a plain Transfer, which does not name its mint, is seen', { timeout }, async () => {
  const seen = await seenOf(async () => run([await pay(77n, { checked: false })]))
  assert.deepEqual(amounts(seen), [[seller.address, 77n]])
})

test('a failed transaction moves nothing', { timeout }, async () => {
  const seen = await seenOf(async () => run([await pay(5n), await pay(10n ** 18n)]))
  assert.deepEqual(seen, [])
})

test('a token account made in the paying transaction counts from 0', { timeout }, async () => {
  const seen = await seenOf(async () =>
    run([
      await createAssociated(chain.buyer, other.address, chain.mints.usdc),
      await pay(31n, { to: other.address }),
    ]),
  )
  assert.deepEqual(amounts(seen), [[other.address, 31n]])
})

test('several sellers in one transaction are paid apart, at places of their own', {
  timeout,
}, async () => {
  const seen = await seenOf(async () =>
    run([await pay(41n), await pay(42n, { to: other.address })]),
  )
  assert.deepEqual(
    new Map(amounts(seen) as [string, bigint][]),
    new Map([
      [seller.address, 41n],
      [other.address, 42n],
    ]),
  )
  assert.notEqual(seen[0]?.index, seen[1]?.index)
})

test('two transfers to one seller in one transaction are what they sum to', {
  timeout,
}, async () => {
  const seen = await seenOf(async () => run([await pay(10n), await pay(20n)]))
  assert.deepEqual(amounts(seen), [[seller.address, 30n]])
})

test('what is sent on in the same transaction has not arrived', { timeout }, async () => {
  const { buyer, mints } = chain
  const seen = await seenOf(async () =>
    run([
      await pay(500n),
      transfer({
        from: await at(seller.address, mints.usdc),
        to: await at(buyer.address, mints.usdc),
        owner: seller,
        amount: 500n,
      }),
    ]),
  )
  assert.deepEqual(seen, [])
})

test('a transfer done by another program, as an inner instruction, is seen', {
  timeout,
}, async () => {
  const { buyer, mints } = chain
  const holder = await at(seller.address, mints.usdc)
  const nested = await at(holder, mints.usdt)
  await run([
    await createAssociated(buyer, seller.address, mints.usdt),
    await createAssociated(buyer, holder, mints.usdt),
    mintTo(mints.usdt, nested, buyer, 1_234n),
  ])
  const seen = await seenOf(async () => run([await recoverNested(seller, mints.usdc, mints.usdt)]))
  assert.deepEqual(amounts(seen), [[seller.address, 1_234n]])
  assert.equal(seen[0]?.contract, mints.usdt)
})

test('a Token-2022 fee is withheld: what arrived is what counts', { timeout }, async () => {
  const { buyer } = chain
  const program = TOKEN_2022_PROGRAM
  const seen = await seenOf(
    async () =>
      run([
        await createAssociated(buyer, seller.address, feeMint.address, program),
        transfer({
          from: await at(buyer.address, feeMint.address, program),
          to: await at(seller.address, feeMint.address, program),
          owner: buyer,
          amount: 1_000_000n,
          checked: { mint: feeMint.address, decimals: 6 },
          program,
        }),
      ]),
    { usdc: feeMint.address },
  )
  assert.deepEqual(amounts(seen), [[seller.address, 990_000n]])
})

test('closing an account that was emptied into another of the same seller moves nothing', {
  timeout,
}, async () => {
  const { buyer, mints } = chain
  const spare = await generateKeyPairSigner()
  const lamports = chain.ledger.rentOf(165)
  await run([
    createAccount(buyer, spare, { lamports, bytes: 165, program: TOKEN_PROGRAM }),
    initializeAccount(spare.address, mints.usdc, seller.address),
    mintTo(mints.usdc, spare.address, buyer, 900n),
  ])
  const seen = await seenOf(async () =>
    run([
      transfer({
        from: spare.address,
        to: await at(seller.address, mints.usdc),
        owner: seller,
        amount: 900n,
      }),
      closeAccount(spare.address, seller),
    ]),
  )
  assert.deepEqual(seen, [])
})

test('minted tokens come from whoever paid for the transaction', { timeout }, async () => {
  const { buyer, mints } = chain
  const account = await at(seller.address, mints.usdc)
  const seen = await seenOf(() => run([mintTo(mints.usdc, account, buyer, 3n)]))
  assert.deepEqual(
    seen.map(({ from, amountBaseUnits }) => [from, amountBaseUnits]),
    [[buyer.address, 3n]],
  )
})

test('reference keys of a transfer are told', { timeout }, async () => {
  const references = [(await generateKeyPairSigner()).address]
  const seen = await seenOf(async () => run([await pay(9n, { references })]))
  assert.ok(seen[0]?.references?.includes(references[0] ?? ''))
})

test('another mint is nothing, whatever it is worth', { timeout }, async () => {
  const seen = await seenOf(async () => run([await pay(8n)]), { usdc: chain.mints.usdt })
  assert.deepEqual(seen, [])
})
