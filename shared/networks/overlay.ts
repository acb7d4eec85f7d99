import { isDecodable } from '#shared/decodable.ts'
import { normalizeContract } from './addresses.ts'
import { MODES, TOKENS } from './names.ts'
import type {
  Deployment,
  Family,
  Mode,
  NetworkFacts,
  Token,
  TokenContract,
  Tokens,
} from './registry.ts'

/** RPC endpoints of one deployment: more would add calls, not certainty. */
const RPC_COUNT_MAX = 16
/** Blocks. Beyond this a payment would wait for days. */
const CONFIRMATIONS_MAX = 10_000
/** One hour, in milliseconds: more tolerance would let transfers pay that came before the payment. */
const CLOCK_TOLERANCE_MS_MAX = 3_600_000
/** Ten minutes, in milliseconds: no chain with stablecoins is slower. */
const BLOCK_TIME_MS_MAX = 600_000
/** The tail that tells amounts on a shared address apart is counted in micro-dollars. */
const DECIMALS_MIN = 6
/** No stablecoin has more than 18; twice that still fits every column and parameter. */
const DECIMALS_MAX = 36
/** Solana's `finalized` commitment. Slot arithmetic is not used, so no other number has a meaning. */
const SOLANA_CONFIRMATIONS = 32

const CLOCK_TOLERANCE_MS_DEFAULT = 30_000
/** Of a chain that only the operator's file names, in milliseconds. */
const BLOCK_TIME_MS_DEFAULT = 2_000

const FIELDS = [
  'networkName',
  'chainId',
  'genesisHash',
  'confirmations',
  'tokens',
  'rpc',
  'clockToleranceMs',
  'blockTimeMs',
  'explorerTxUrl',
  'reading',
] as const

type Field = (typeof FIELDS)[number]
type Scalar = Exclude<Field, 'tokens' | 'rpc'>
type Json = Record<string, unknown>
/** Notes that the value at `path` is wrong. Values are not repeated: an RPC URL may hold a key. */
type Report = (path: string, shouldBe: string) => void
/** A row on its way to a deployment: what the table says, then what the file says over it. */
type Row = { [F in Field]?: NonNullable<Deployment[F]> }
type Check<T> = { shouldBe: string; parse: (value: unknown) => T | undefined }

const READINGS = ['auto', 'accounts', 'blocks'] as const

const SCALARS: { readonly [F in Scalar]: Check<NonNullable<Deployment[F]>> } = {
  networkName: text(/^.{1,64}$/u, 'a name of 1 to 64 characters'),
  chainId: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  genesisHash: {
    shouldBe: 'the base58 hash of the genesis block',
    // A hash is 32 bytes, as a mint's address is.
    parse: (value) => (typeof value === 'string' ? normalizeContract('solana', value) : undefined),
  },
  confirmations: wholeNumber(1, CONFIRMATIONS_MAX),
  clockToleranceMs: wholeNumber(0, CLOCK_TOLERANCE_MS_MAX),
  blockTimeMs: wholeNumber(1, BLOCK_TIME_MS_MAX),
  explorerTxUrl: text(
    /^https?:\/\/[^\s{}]+\{txHash\}[^\s{}]*$/,
    'an http(s) URL with {txHash} in the place of the hash',
  ),
  reading: {
    shouldBe: 'auto, accounts or blocks',
    parse: (value) => READINGS.find((reading) => reading === value),
  },
}
const DECIMALS = wholeNumber(DECIMALS_MIN, DECIMALS_MAX)

/** The networks file can't be run. `faults` has one line each: the field's path, what it should be. */
export class NetworksError extends Error {
  override readonly name = 'NetworksError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

/**
 * The deployments of `networks` with the operator's file over them, field by field: a given `tokens`
 * or `rpc` replaces the row's whole one. A network the table doesn't have is an EVM chain and has to
 * bring `chainId`, `confirmations` and `tokens`. Throws `NetworksError` with all faults.
 */
export function overlayNetworks(
  networks: Readonly<Record<string, NetworkFacts>>,
  file: unknown,
): Map<string, Deployment> {
  const faults: string[] = []
  const report: Report = (path, shouldBe) => faults.push(`${path} should be ${shouldBe}`)
  const overlays = readNetworks(file, report)
  const deployments = new Map<string, Deployment>()

  for (const network of new Set([...Object.keys(networks), ...overlays.keys()])) {
    const facts = networks[network]
    for (const mode of MODES) {
      const overlay = overlays.get(network)?.[mode]
      if (facts === undefined && overlay === undefined) continue
      const deployment = buildDeployment({ network, mode, facts, overlay: overlay ?? {}, report })
      if (deployment !== undefined) deployments.set(deployment.deployment, deployment)
    }
  }

  reportSharedTokens(deployments.values(), faults)
  if (faults.length > 0) throw new NetworksError(faults)
  return deployments
}

function buildDeployment(given: {
  network: string
  mode: Mode
  facts: NetworkFacts | undefined
  overlay: Json
  report: Report
}): Deployment | undefined {
  const { network, mode, facts, overlay, report } = given
  const path = `${network}.${mode}`
  const family = facts?.family ?? 'evm'
  const over = readRow(path, family, overlay, report)
  const row: Row = { ...tableRow(facts, mode), ...over }

  // Another chain under the same name (a local one, say) is not what the table's explorer shows.
  const isOtherChain = over.chainId !== undefined || over.genesisHash !== undefined
  if (isOtherChain && over.explorerTxUrl === undefined) delete row.explorerTxUrl

  const missing = (['chainId', 'confirmations', 'tokens'] as const).filter(
    (field) => family === 'evm' && row[field] === undefined && overlay[field] === undefined,
  )
  for (const field of missing) {
    report(`${path}.${field}`, 'given: the network is not in the built-in table')
  }

  const { chainId, genesisHash, confirmations, tokens } = row
  if (confirmations === undefined || tokens === undefined) return undefined
  const rpc = row.rpc ?? []
  const isOn = rpc.length > 0
  const shared = {
    deployment: `${network}:${mode}`,
    network,
    networkName: row.networkName ?? network,
    mode,
    confirmations,
    tokens: isOn || over.tokens !== undefined ? tokens : withStandIns(tokens, facts, mode),
    rpc,
    clockToleranceMs: row.clockToleranceMs ?? CLOCK_TOLERANCE_MS_DEFAULT,
    blockTimeMs: row.blockTimeMs ?? BLOCK_TIME_MS_DEFAULT,
    ...(row.explorerTxUrl === undefined ? {} : { explorerTxUrl: row.explorerTxUrl }),
    isOn,
  }
  if (family === 'solana') {
    const reading = row.reading ?? 'auto'
    return genesisHash === undefined ? undefined : { ...shared, family, genesisHash, reading }
  }
  return chainId === undefined ? undefined : { ...shared, family, chainId }
}

function tableRow(facts: NetworkFacts | undefined, mode: Mode): Row {
  if (facts === undefined) return {}
  const { networkName, confirmations, blockTimeMs, clockToleranceMs } = facts
  return {
    networkName,
    confirmations,
    blockTimeMs,
    ...(clockToleranceMs === undefined ? {} : { clockToleranceMs }),
    ...facts[mode],
  }
}

/**
 * A test deployment that is off settles by simulate and reads no chain, so that a seller can try
 * every pair that is sold live. Where a token has no published test contract, the live one's address
 * and decimals are shown in its place. Switched on, a deployment takes only the tokens it names.
 */
function withStandIns(tokens: Tokens, facts: NetworkFacts | undefined, mode: Mode): Tokens {
  return mode === 'test' && facts !== undefined ? { ...facts.live.tokens, ...tokens } : tokens
}

/** Two watchers of one token on one chain would both credit a transfer. One that is off watches nothing. */
function reportSharedTokens(deployments: Iterable<Deployment>, faults: string[]): void {
  const ownerByToken = new Map<string, string>()
  for (const deployment of deployments) {
    if (!deployment.isOn) continue
    const chain = deployment.chainId ?? deployment.genesisHash
    for (const token of TOKENS) {
      const contract = deployment.tokens[token]?.contract
      if (contract === undefined) continue
      const name = `${deployment.network}.${deployment.mode}.tokens.${token}`
      const key = `${deployment.family} ${chain} ${contract}`
      const owner = ownerByToken.get(key)
      if (owner === undefined) ownerByToken.set(key, name)
      else
        faults.push(`${name} should be another contract or chain than ${owner}, which is the same`)
    }
  }
}

// --- Reading the file -----------------------------------------------------------------------------

function readNetworks(file: unknown, report: Report): Map<string, { [M in Mode]?: Json }> {
  const overlays = new Map<string, { [M in Mode]?: Json }>()
  if (file === undefined) return overlays
  if (!isObject(file)) {
    report('the file', 'an object of networks')
    return overlays
  }
  for (const [network, modes] of Object.entries(file)) {
    if (!/^[a-z][a-z0-9-]{0,31}$/.test(network)) {
      report(network, 'a network name: up to 32 of a-z, 0-9 and -, beginning with a letter')
    } else if (!isObject(modes)) {
      report(network, 'an object with `live`, `test` or both')
    } else {
      overlays.set(network, readModes(network, modes, report))
    }
  }
  return overlays
}

function readModes(network: string, modes: Json, report: Report): { [M in Mode]?: Json } {
  const known: { [M in Mode]?: Json } = {}
  for (const [key, row] of Object.entries(modes)) {
    const mode = MODES.find((name) => name === key)
    if (mode === undefined) report(`${network}.${key}`, 'left out: there are `live` and `test`')
    else if (!isObject(row)) report(`${network}.${key}`, 'an object')
    else known[mode] = row
  }
  return known
}

/** The well-formed fields of one row; the others are reported and left out. */
function readRow(path: string, family: Family, json: Json, report: Report): Row {
  const row: Row = {}
  const absent: readonly Field[] = family === 'evm' ? ['genesisHash', 'reading'] : ['chainId']
  const fields = FIELDS.filter((field) => !absent.includes(field))
  for (const [key, value] of Object.entries(json)) {
    const field = fields.find((name) => name === key)
    if (field === undefined) {
      report(`${path}.${key}`, `left out: the fields are ${fields.join(', ')}`)
    } else if (field === 'tokens') {
      row.tokens = readTokens(`${path}.tokens`, family, value, report)
    } else if (field === 'rpc') {
      row.rpc = readRpc(`${path}.rpc`, value, report)
    } else if (field === 'confirmations' && family === 'solana') {
      if (value !== SOLANA_CONFIRMATIONS) {
        report(`${path}.${field}`, `${SOLANA_CONFIRMATIONS}, which stands for finalized`)
      }
    } else {
      readScalar(row, field, value, (shouldBe) => report(`${path}.${field}`, shouldBe))
    }
  }
  return row
}

function readScalar<F extends Scalar>(
  row: Row,
  field: F,
  value: unknown,
  report: (shouldBe: string) => void,
): void {
  const { shouldBe, parse } = SCALARS[field]
  const parsed = parse(value)
  if (parsed === undefined) report(shouldBe)
  else row[field] = parsed
}

function readTokens(path: string, family: Family, value: unknown, report: Report): Tokens {
  const tokens: { [T in Token]?: TokenContract } = {}
  if (!isObject(value) || Object.keys(value).length === 0) {
    report(path, 'an object with `usdc`, `usdt` or both')
    return tokens
  }
  for (const [key, entry] of Object.entries(value)) {
    const token = TOKENS.find((name) => name === key)
    if (token === undefined) report(`${path}.${key}`, 'left out: the tokens are usdc and usdt')
    else if (!isObject(entry)) report(`${path}.${key}`, 'an object with `contract` and `decimals`')
    else {
      const contract = readToken(`${path}.${key}`, family, entry, report)
      if (contract !== undefined) tokens[token] = contract
    }
  }
  return tokens
}

function readToken(
  path: string,
  family: Family,
  entry: Json,
  report: Report,
): TokenContract | undefined {
  const { contract: address, decimals: count, ...others } = entry
  for (const key of Object.keys(others)) {
    report(`${path}.${key}`, 'left out: a token has contract and decimals')
  }
  const contract = typeof address === 'string' ? normalizeContract(family, address) : undefined
  const decimals = DECIMALS.parse(count)
  if (contract === undefined) report(`${path}.contract`, CONTRACT_SHOULD_BE[family])
  if (decimals === undefined) report(`${path}.decimals`, DECIMALS.shouldBe)
  return contract === undefined || decimals === undefined ? undefined : { contract, decimals }
}

const CONTRACT_SHOULD_BE: Record<Family, string> = {
  evm: 'an address: 0x and 40 hex digits, in one case or with a right EIP-55 checksum',
  solana: 'the base58 address of a mint',
}

function isRpcUrl(text: string): boolean {
  if (!/^(https?|wss?):\/\//.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return isDecodable(username) && isDecodable(password)
}

function readRpc(path: string, value: unknown, report: Report): string[] {
  if (!Array.isArray(value) || value.length > RPC_COUNT_MAX) {
    report(path, `a list of at most ${RPC_COUNT_MAX} URLs`)
    return []
  }
  const urls = new Map<string, string>()
  value.forEach((entry: unknown, index) => {
    if (typeof entry !== 'string' || !isRpcUrl(entry)) {
      report(`${path}[${index}]`, 'a URL that begins with https, http, wss or ws, escaped with %')
      return
    }
    // A second reading by the same endpoint would prove nothing, however its URL is written.
    const { href } = new URL(entry)
    if (urls.has(href)) report(`${path}[${index}]`, 'another URL: it is listed twice')
    else urls.set(href, entry)
  })
  return [...urls.values()]
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(pattern: RegExp, shouldBe: string): Check<string> {
  return {
    shouldBe,
    parse: (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
  }
}

function wholeNumber(min: number, max: number): Check<number> {
  return {
    shouldBe: `a whole number from ${min} to ${max}`,
    parse: (value) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
        ? value
        : undefined,
  }
}
