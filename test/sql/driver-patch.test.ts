import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

const PATCH = new URL('../../shared/patches/postgres@3.4.9.patch', import.meta.url)

test('the installed driver is the patched one', async () => {
  // The module that this runtime really loads, not another build of the package.
  const source = new URL('./', import.meta.resolve('postgres'))
  assert.match(source.href, /\/postgres\/src\/$/)
  const files = (await readFile(PATCH, 'utf8')).split(/^diff --git /m).slice(1)
  assert.ok(files.length > 0)
  for (const file of files) {
    const name = /^\+\+\+ b\/src\/(.+)$/m.exec(file)?.[1]
    assert.ok(name, 'every patched file belongs to the build that is loaded')
    const installed = await readFile(new URL(name, source), 'utf8')
    for (const [, line] of file.matchAll(/^\+(?!\+\+ )(.+)$/gm)) {
      assert.ok(line && installed.includes(line), `${name} lacks: ${line} (run bun install)`)
    }
  }
})
