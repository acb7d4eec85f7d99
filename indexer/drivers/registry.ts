import type { Family } from '#shared/networks/registry.ts'
import type { Driver, DriverDeps } from './driver.ts'
import { createEvmDriver } from './evm.ts'
import { createSolanaDriver } from './solana.ts'

/** One line per chain family. */
const DRIVERS: { readonly [F in Family]: (deps: DriverDeps) => Driver } = {
  evm: createEvmDriver,
  solana: createSolanaDriver,
}

/** The driver of a deployment's family. */
export function createDriver(deps: DriverDeps): Driver {
  return DRIVERS[deps.deployment.family](deps)
}
