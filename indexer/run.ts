import { Fenced } from './commit.ts'
import { registerDeployment, writeHaltedReason } from './cursor.ts'
import { DeploymentMismatch } from './drivers/driver.ts'
import { type FollowDeps, lead } from './follow.ts'
import { LEASE_SECONDS, releaseLease, renewLease, takeLease } from './lease.ts'

export type RunDeps = FollowDeps & {
  /** Names this process in the lease: one process, one name. */
  leader: string
}

/** A deployment being followed, or stood by for. */
export type Run = {
  /** Whether this process leads it now. */
  isLeading(): boolean
  /** Whether another process does, so that this one has nothing to see. */
  isStandingBy(): boolean
  /** Whether it stays off, because its node is not what its row says. */
  isHalted(): boolean
  stop(): Promise<void>
}

/** Milliseconds between a standby's looks at the lease: with the lease's own time, a takeover within 10 s. */
const STANDBY_POLL_MS = 1_000
/** The lease is renewed this many times before it would end, so that one lost renewal does no harm. */
const RENEWALS_PER_LEASE = 4
/** Milliseconds waited after a failure: doubles up to the maximum, and starts anew after a success. */
const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 5_000
/** A node that is not what its row says is asked again this much later: somebody has to mend it first. */
const MISMATCH_RETRY_MS = 30_000
/** A leader that worked this long before it failed had succeeded. */
const SUCCESS_MS = 30_000

/** Keeps a deployment followed by one process of many, whatever fails: the node, the database or another leader. */
export function runDeployment(deps: RunDeps): Run {
  const state = { isStopped: false, isLeading: false, isStandingBy: false, isHalted: false }
  const done = keepRunning(deps, state)
  return {
    isLeading: () => state.isLeading,
    isStandingBy: () => state.isStandingBy,
    isHalted: () => state.isHalted && !state.isLeading,
    async stop() {
      state.isStopped = true
      deps.doorbell.ring()
      await deps.driver.stop()
      await done
    },
  }
}

type RunState = {
  isStopped: boolean
  isLeading: boolean
  isStandingBy: boolean
  isHalted: boolean
}

async function keepRunning(deps: RunDeps, state: RunState): Promise<void> {
  let backoffMs = BACKOFF_MS
  while (!state.isStopped) {
    const startedAtMs = deps.nowMs()
    try {
      await runOnce(deps, state)
      backoffMs = BACKOFF_MS
    } catch (error) {
      if (state.isStopped) return
      state.isHalted = error instanceof DeploymentMismatch
      if (deps.nowMs() - startedAtMs > SUCCESS_MS) backoffMs = BACKOFF_MS
      const dueAtMs = deps.nowMs() + (await report(deps, error, backoffMs))
      // Who rings does not know of the failure; the lease that was just given back rings, too.
      while (!state.isStopped && deps.nowMs() < dueAtMs) {
        await deps.doorbell.wait(dueAtMs - deps.nowMs())
      }
      backoffMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2)
    }
  }
}

/** One turn at leading: take the lease, lead until something ends it. A standby asks Postgres alone, never a node. */
async function runOnce(deps: RunDeps, state: RunState): Promise<void> {
  const { deployment } = deps.deployment
  await registerDeployment(deps.db, deps.deployment)
  const epoch = await takeLease(deps.db, deployment, deps.leader)
  state.isStandingBy = epoch === undefined
  if (epoch === undefined) {
    await deps.doorbell.wait(STANDBY_POLL_MS)
    return
  }
  deps.log.info('leads', { epoch })
  state.isLeading = true
  const keeper = keepLease(deps, epoch)
  try {
    await lead(deps, epoch, () => state.isStopped || keeper.isLost())
  } finally {
    state.isLeading = false
    keeper.stop()
    await giveBack(deps, epoch)
  }
}

/** Renews the lease on a timer, so that a leader busy with one long range keeps it. */
function keepLease(deps: RunDeps, epoch: number) {
  let isLost = false
  let isRenewing = false
  const renew = async () => {
    if (isRenewing) return
    isRenewing = true
    try {
      isLost = !(await renewLease(deps.db, deps.deployment.deployment, epoch))
    } catch (error) {
      deps.log.warn('the lease could not be renewed', { error })
    } finally {
      isRenewing = false
    }
  }
  const timer = setInterval(() => void renew(), (LEASE_SECONDS * 1000) / RENEWALS_PER_LEASE)
  return { isLost: () => isLost, stop: () => clearInterval(timer) }
}

async function giveBack(deps: RunDeps, epoch: number): Promise<void> {
  try {
    await releaseLease(deps.db, deps.deployment.deployment, epoch)
  } catch (error) {
    // It ends by itself; a standby waits that much longer.
    deps.log.warn('the lease could not be given back', { error })
  }
}

/** Says what failed, and answers how long to wait, in milliseconds. */
async function report(deps: RunDeps, error: unknown, backoffMs: number): Promise<number> {
  if (error instanceof Fenced) {
    deps.log.warn('another process leads')
    return STANDBY_POLL_MS
  }
  if (!(error instanceof DeploymentMismatch)) {
    deps.log.warn('following failed, trying again', { error, inMs: backoffMs })
    return backoffMs
  }
  deps.log.error('stays off: the node is not what the networks table says', { error })
  try {
    await writeHaltedReason(deps.db, deps.deployment.deployment, error.message)
  } catch (writeError) {
    deps.log.warn('the reason could not be stored', { error: writeError })
  }
  return MISMATCH_RETRY_MS
}
