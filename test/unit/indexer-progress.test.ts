import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '#shared/log.ts'
import { createProgress } from '../../indexer/progress.ts'

test('a catch-up is told every five seconds, with its rate and the time that is left', () => {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const log = createLog({ level: 'info', format: 'json', name: 'indexer', write })
  let now = 0
  const progress = createProgress({ nowMs: () => now, log })
  assert.equal(progress.note(1_000, 9_000), undefined)
  now = 4_999
  assert.equal(progress.note(2_000, 8_000), undefined)
  now = 5_000
  assert.equal(progress.note(2_250, 7_750), 250)
  assert.equal(lines.length, 1)
  const { message, block, behind, blocksPerSecond, etaSeconds } = JSON.parse(lines[0] ?? '')
  assert.deepEqual(
    { message, block, behind, blocksPerSecond, etaSeconds },
    { message: 'catching up', block: 2_250, behind: 7_750, blocksPerSecond: 250, etaSeconds: 31 },
  )
})
