import type { Family } from '#shared/networks/registry.ts'
import type { Driver, DriverDeps } from './driver.ts'
import { createEvmDriver } from './evm.ts'
import { createSolanaDriver } from './solana.ts'

/** One line per chain family. */
const DRIVERS: { readonly [F in Family]?: (deps: DriverDeps) => Driver } = {
  evm: createEvmDriver,
  solana: createSolanaDriver,
}

/** The driver of a deployment's family. Throws when there is none for it. */
export function createDriver(deps: DriverDeps): Driver {
  const { family, deployment } = deps.deployment
  const create = DRIVERS[family]
  if (!create) throw new Error(`${deployment}: no driver follows ${family} chains`)
  return create(deps)
}
