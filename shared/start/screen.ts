/** Where a person watches the start. */
export type Screen = {
  /** Shows that something is under way; answers the function that says it is done. */
  step(title: string): (detail?: string) => void
  /** One line that stays. */
  line(text: string): void
  /** Ends what moves: nothing is written over any more. */
  settle(): void
}

export type ScreenOptions = {
  write(text: string): void
  /** A terminal shows what is under way on a line that is written over. */
  isTerminal: boolean
  hasColor: boolean
  nowMs(): number
}

/** Milliseconds between two looks of the line that moves. */
const FRAME_MS = 120
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const ERASE_LINE = '\r\u001b[2K'
/** Columns of a step's title. */
const TITLE_WIDTH = 26

export function createScreen({ write, isTerminal, hasColor, nowMs }: ScreenOptions): Screen {
  const underWay = new Map<string, number>()
  let frame = 0
  let timer: ReturnType<typeof setInterval> | undefined
  const paint = (code: number, text: string) =>
    hasColor ? `\u001b[${code}m${text}\u001b[0m` : text
  const erase = () => {
    if (isTerminal && timer !== undefined) write(ERASE_LINE)
  }
  const draw = () => {
    const titles = [...underWay.keys()].join(', ')
    const seconds = Math.floor((nowMs() - Math.min(...underWay.values())) / 1000)
    frame = (frame + 1) % FRAMES.length
    write(`${ERASE_LINE}  ${paint(36, FRAMES[frame] ?? '')} ${titles} ${paint(2, `${seconds} s`)}`)
  }
  const settle = () => {
    erase()
    clearInterval(timer)
    timer = undefined
    underWay.clear()
  }
  const line = (text: string) => {
    erase()
    write(`${text}\n`)
    if (timer !== undefined) draw()
  }
  return {
    step(title) {
      const startedMs = nowMs()
      underWay.set(title, startedMs)
      if (!isTerminal) write(`  … ${title}\n`)
      else if (timer === undefined) timer = setInterval(draw, FRAME_MS)
      return (detail = '') => {
        underWay.delete(title)
        const seconds = ((nowMs() - startedMs) / 1000).toFixed(1)
        if (underWay.size === 0) settle()
        line(
          `  ${paint(32, '✓')} ${title.padEnd(TITLE_WIDTH)}${paint(2, `${seconds} s`)} ${detail}`.trimEnd(),
        )
      }
    },
    line,
    settle,
  }
}
