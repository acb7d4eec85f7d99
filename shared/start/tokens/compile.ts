import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import solc from 'solc'

const SOURCE = new URL('./tokens.sol', import.meta.url)

export type ContractName = 'LocalToken' | 'LocalFeeToken' | 'LocalBatchPayer'

/** Creation bytecode of each contract, `0x…`, with the SHA-256 of the source it came from. */
export type Compiled = {
  sourceSha256: string
  bytecode: { [name in ContractName]: `0x${string}` }
}

type Output = {
  errors?: { formattedMessage: string }[]
  contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>
}

/** Compiles the contracts of the local chain; warnings are errors. Needs the development dependencies. */
export async function compileTokens(): Promise<Compiled> {
  const source = await readFile(SOURCE, 'utf8')
  const input = {
    language: 'Solidity',
    sources: { 'tokens.sol': { content: source } },
    settings: {
      // Runs on every chain since the merge, Anvil's default rules included.
      evmVersion: 'paris',
      optimizer: { enabled: true, runs: 200 },
      // Nothing but code, so that the same source gives the same bytes.
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Output
  if (output.errors?.length) {
    throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  }
  const codeOf = (name: string): `0x${string}` => {
    const code = output.contracts?.['tokens.sol']?.[name]?.evm.bytecode.object
    if (!code) throw new Error(`the compiler gave no code for ${name}`)
    return `0x${code}`
  }
  return {
    sourceSha256: createHash('sha256').update(source).digest('hex'),
    bytecode: {
      LocalToken: codeOf('LocalToken'),
      LocalFeeToken: codeOf('LocalFeeToken'),
      LocalBatchPayer: codeOf('LocalBatchPayer'),
    },
  }
}
