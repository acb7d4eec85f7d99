import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BYTECODE, SOURCE_SHA256 } from '#shared/start/tokens/bytecode.ts'
import { compileTokens } from '#shared/start/tokens/compile.ts'

test('the committed bytecode of the local tokens is what their source compiles to', {
  timeout: 60_000,
}, async () => {
  assert.deepEqual(await compileTokens(), { sourceSha256: SOURCE_SHA256, bytecode: BYTECODE })
})
