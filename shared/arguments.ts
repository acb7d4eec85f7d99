import { type ParseArgsConfig, parseArgs } from 'node:util'
import { ConfigError } from '#shared/config.ts'

type Options = NonNullable<ParseArgsConfig['options']>

/**
 * What an entrance was told by its arguments, such as `{ network: ['base'] }`. What it does not know is refused: after a slip
 * it would do something else than was meant.
 *
 * @param usage how they are written: `[--network NAME]…`
 * @throws ConfigError
 */
export function readOptions<const O extends Options>(args: string[], options: O, usage: string) {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`the arguments should be ${usage}: ${reason}`])
  }
}
