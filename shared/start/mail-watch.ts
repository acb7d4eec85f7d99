import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Running } from '#shared/start/keep-running.ts'

/** Milliseconds between two looks at the directory. */
const LOOK_MS = 500

/**
 * Shows each mail that is written into a directory from now on: to whom, what about, and its link, so that a person
 * without a mail server can open it. On the screen alone: links are capabilities, which no log file may hold.
 */
export async function watchMails(
  directory: string,
  show: (line: string) => void,
): Promise<Running> {
  const seen = new Set(await list(directory))
  let timer: ReturnType<typeof setTimeout> | undefined
  let end: () => void = () => undefined
  const ended = new Promise<{ exitCode: null }>((done) => {
    end = () => done({ exitCode: null })
  })
  const look = async () => {
    for (const name of (await list(directory)).filter((one) => !seen.has(one))) {
      seen.add(name)
      show(describeMail(await readFile(join(directory, name), 'utf8').catch(() => '')))
    }
    if (timer !== undefined) timer = setTimeout(look, LOOK_MS)
  }
  timer = setTimeout(look, LOOK_MS)
  return {
    ended,
    async stop() {
      clearTimeout(timer)
      timer = undefined
      end()
    },
  }
}

/** One line about a mail, from its headers: `mail to ann@example.com: Verify your e-mail address  http://…`. */
export function describeMail(message: string): string {
  const [head = ''] = message.split(/\r?\n\r?\n/, 1)
  const lines = head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  const header = (name: string) =>
    lines.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  const subject = header('subject')
  const link = header('x-service-link')
  // A subject beyond ASCII is encoded; the file's reader decodes it, this line does without.
  const about = subject.startsWith('=?') ? '' : `: ${subject}`
  return `mail to ${header('to')}${about}${link && `  ${link}`}`
}

/** Names of the mails there, none before the first one was written. */
async function list(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.filter((name) => name.endsWith('.eml')).sort()
}
