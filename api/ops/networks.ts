import { isId } from '#shared/ids.ts'
import { RESCAN_KIND, type RescanBody } from '#shared/requests.ts'
import { stalledAfterMs } from '#shared/stalled.ts'
import {
  type Answer,
  type Arguments,
  type Command,
  LIMIT_OPTION,
  limitOf,
  need,
  type OpsDeps,
  Refusal,
  UsageError,
  wholeNumberOf,
} from './command.ts'
import {
  type DeploymentRow,
  insertRescan,
  listRequests,
  type RequestRow,
  readDeployments,
  readRequest,
} from './queries.ts'

/** Blocks that one rescan may ask for: days of any chain, hours of a reading. */
const RESCAN_BLOCKS_MAX = 1_000_000
/** Seconds that `--wait` waits at most. */
const WAIT_S_MAX = 3_600
/** Milliseconds between two looks at an answer. */
const WAIT_POLL_MS = 500

export const networkCommands: readonly Command[] = [
  {
    name: 'network status',
    summary: 'what each deployment is doing, how far it is, and who leads it',
    run: async (deps) => ({
      networks: (await readDeployments(deps.db)).map((row) => statusOf(deps, row)),
    }),
  },
  {
    name: 'network rescan',
    summary: 'read blocks once more; what was missed is stored and matched',
    parameters: ['deployment'],
    options: {
      from: { value: 'block', about: 'the first block' },
      to: { value: 'block', about: 'the last one' },
      wait: { value: 'seconds', about: 'wait so long for the end' },
    },
    run: askRescan,
  },
  {
    name: 'request list',
    summary: 'what indexers and dispatchers are asked for and have not done',
    options: LIMIT_OPTION,
    flags: { all: 'what is done as well' },
    run: async ({ db }, args) => ({
      requests: await listRequests(db, !args.flags.has('all'), limitOf(args)),
    }),
  },
  {
    name: 'request show',
    summary: 'how far a request is, such as a rescan',
    parameters: ['requestId'],
    async run(deps, args) {
      const request = await findRequest(deps, args.words[0] ?? '')
      explain(deps, request)
      return { request }
    },
  },
]

function statusOf({ config }: OpsDeps, row: DeploymentRow) {
  const { isLed, headAgeMs, blockNumber, headNumber, ...rest } = row
  // A chain that this command's own configuration does not know counts as a fast one.
  const patienceMs = stalledAfterMs(config.deployments.get(row.deployment)?.blockTimeMs ?? 0)
  const isStalled = headAgeMs === null || headAgeMs > patienceMs
  const isBehindKnown = blockNumber !== null && headNumber !== null
  const state = stateOf(rest.haltedReason !== null, isLed, isStalled)
  return {
    deployment: rest.deployment,
    state: !isLed && isOff(config, rest.deployment) ? 'OFF' : state,
    blockNumber,
    headNumber,
    blocksBehind: isBehindKnown ? Math.max(0, headNumber - blockNumber) : null,
    auditedNumber: rest.auditedNumber,
    headAgeSeconds: headAgeMs === null ? null : Math.round(headAgeMs / 1000),
    confirmations: rest.confirmations,
    leader: isLed ? rest.leader : null,
    disagreementCount: rest.disagreementCount,
    haltedReason: rest.haltedReason,
  }
}

/** Whether this deployment is switched off. A command that was not given the `NETWORKS_FILE` of the processes cannot tell. */
function isOff({ deployments }: OpsDeps['config'], deployment: string): boolean {
  const isGiven = [...deployments.values()].some(({ isOn }) => isOn)
  return isGiven && !deployments.get(deployment)?.isOn
}

function stateOf(isHalted: boolean, isLed: boolean, isStalled: boolean) {
  if (isHalted) return 'HALTED'
  if (!isLed) return 'NOT_RUNNING'
  return isStalled ? 'STALLED' : 'RUNNING'
}

async function askRescan(deps: OpsDeps, args: Arguments): Promise<Answer> {
  const name = args.words[0] ?? ''
  const body = readRange(args)
  const waitS = wholeNumberOf(args.options['wait'], '--wait', { min: 1, max: WAIT_S_MAX })
  const rows = await readDeployments(deps.db)
  const row = rows.find(({ deployment }) => deployment === name)
  if (!row) {
    const known = rows.map(({ deployment }) => deployment).join(', ') || 'none was ever followed'
    throw new Refusal(`there is no deployment ${name}: ${known}`)
  }
  const requestId = await insertRescan(deps.db, name, body)
  if (!requestId) {
    throw new Refusal(`a rescan of ${name} is under way: see request list, and try again after it`)
  }
  if (!row.isLed) deps.note(`No indexer leads ${name} now: the rescan begins when one does.`)
  const request = await untilDone(deps, requestId, waitS)
  explain(deps, request)
  return { request: { ...request, ...body } }
}

/** Says in words what a rescan that is done has found. */
function explain({ note }: OpsDeps, { kind, doneAt, result }: RequestRow): void {
  if (kind !== RESCAN_KIND || doneAt === null || result === null) return
  const [foundCount, heldCount] = [Number(result['foundCount']), Number(result['heldCount'])]
  if (foundCount > 0) {
    note(
      `MISSED: ${foundCount} transfers that had not been read are stored and count now; the indexer's log names them. ` +
        'Unless their addresses came to the service later, look at what `rpc` names.',
    )
  }
  if (heldCount > 0) {
    note(`HELD: ${heldCount} transfers were not found again and do not count: see transfer held.`)
  }
  const { toBlock } = result
  if (toBlock === null) {
    note('None of these blocks was read: the indexer has not been there twice yet (auditedNumber).')
  } else if (foundCount + heldCount === 0) {
    note(`Nothing was missed up to block ${String(toBlock)}, the last that was read.`)
  }
}

function readRange(args: Arguments): RescanBody {
  const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER }
  const fromBlock = wholeNumberOf(need(args, 'from'), '--from', bounds) ?? 0
  const toBlock = wholeNumberOf(need(args, 'to'), '--to', bounds) ?? 0
  if (toBlock < fromBlock) throw new UsageError('--to lies before --from')
  if (toBlock - fromBlock >= RESCAN_BLOCKS_MAX) {
    throw new UsageError(`a rescan reads at most ${RESCAN_BLOCKS_MAX} blocks`)
  }
  return { fromBlock, toBlock }
}

/** Throws {@link Refusal} when it is not done in time, or could not be. */
async function untilDone(
  deps: OpsDeps,
  requestId: string,
  waitS: number | undefined,
): Promise<RequestRow> {
  const lookCountMax = ((waitS ?? 0) * 1000) / WAIT_POLL_MS
  for (let lookCount = 0; ; lookCount += 1) {
    const request = await findRequest(deps, requestId)
    const error = request.result?.['error']
    if (typeof error === 'string') throw new Refusal(`${requestId} ended early: ${error}`)
    if (request.doneAt !== null || waitS === undefined) return request
    if (lookCount >= lookCountMax) {
      throw new Refusal(`${requestId} is not done yet: ask with request show`)
    }
    await new Promise((resolve) => setTimeout(resolve, WAIT_POLL_MS))
  }
}

async function findRequest({ db }: OpsDeps, requestId: string): Promise<RequestRow> {
  const request = isId('req', requestId) ? await readRequest(db, requestId) : undefined
  if (!request) throw new Refusal(`there is no request ${requestId}`)
  return request
}
