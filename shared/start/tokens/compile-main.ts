import { writeFile } from 'node:fs/promises'
import { compileTokens } from './compile.ts'

/** Writes `bytecode.ts` anew: run it after a change to `tokens.sol` and commit both. */
const { sourceSha256, bytecode } = await compileTokens()
const lines = Object.entries(bytecode).map(([name, code]) => `  ${name}:\n    '${code}',`)
await writeFile(
  new URL('./bytecode.ts', import.meta.url),
  `/** SHA-256 of the \`tokens.sol\` that this was compiled from, by \`compile-main.ts\`. */
export const SOURCE_SHA256 = '${sourceSha256}'

/** Creation bytecode of the local chain's contracts. */
export const BYTECODE = {
${lines.join('\n')}
} as const
`,
)
