import { setDefaultTimeout } from 'bun:test'

/**
 * Milliseconds a test or hook may take under Bun, whose own default of 5 s also cuts off hooks that were given more. The
 * slowest step, a first start of database, chain and three processes, takes some 20 s on two busy cores.
 */
setDefaultTimeout(90_000)
