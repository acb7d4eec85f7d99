import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCli } from '../support/cli.ts'
import { readSeeded } from '../support/seeded.ts'

/** With a database to be had nowhere: an entrance that passed the slip over would try, and not end so. */
const ENV = {
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
  PORT: '0',
}

for (const entrance of [
  'api/main.ts',
  'indexer/main.ts',
  'dispatcher/main.ts',
  'shared/migrate-main.ts',
  'shared/start/main.ts',
]) {
  test(`${entrance} refuses an argument it does not know, with exit code 78`, async () => {
    const { code, err } = await startCli(entrance, ['--dry-run'], { env: ENV }).ended
    assert.equal(code, 78)
    assert.match(err, /^the arguments should be .*: Unknown option '--dry-run'\n$/)
  })
}

test('sim, fuzz and chaos refuse what they do not know, instead of running another seed', () => {
  assert.deepEqual(readSeeded(['--seed=5', '--steps', '7'], 'steps'), {
    ...{ seed: 5, count: 7, isVerbose: false },
  })
  for (const args of [['--sed', '5'], ['--seed', 'five'], ['--seed'], ['5'], ['--seconds', '5']]) {
    assert.throws(() => readSeeded(args, 'steps'), args.join(' '))
  }
})
