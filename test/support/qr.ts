import assert from 'node:assert/strict'
import jsqr from 'jsqr'
import type { Locator } from 'playwright-core'

type Read = (pixels: Uint8ClampedArray, width: number, height: number) => { data: string } | null

/** The reader, however the runtime wraps its CommonJS. */
const read = ('default' in jsqr ? jsqr.default : jsqr) as unknown as Read

/** What a camera pointed at this part of the page reads. */
export async function scan(code: Locator): Promise<string> {
  const picture = (await code.screenshot()).toString('base64')
  const context = await code.page().context().browser()?.newContext()
  assert.ok(context)
  try {
    const page = await context.newPage()
    // As a text of bits: an array of numbers takes the browser's protocol seconds to carry.
    const { bits, width, height } = await page.evaluate(async (base64) => {
      const image = new Image()
      image.src = `data:image/png;base64,${base64}`
      await image.decode()
      const { width, height } = image
      const canvas = new OffscreenCanvas(width, height)
      const context = canvas.getContext('2d')
      if (context === null) throw new Error('no canvas')
      context.drawImage(image, 0, 0)
      const { data } = context.getImageData(0, 0, width, height)
      let bits = ''
      for (let at = 0; at < data.length; at += 4) bits += (data[at + 1] ?? 0) < 128 ? '1' : '0'
      return { bits, width, height }
    }, picture)
    const pixels = Uint8ClampedArray.from(
      [...bits].flatMap((bit) => (bit === '1' ? [0, 0, 0, 255] : [255, 255, 255, 255])),
    )
    const found = read(pixels, width, height)
    assert.ok(found, 'a QR code is there to read')
    return found.data
  } finally {
    await context.close()
  }
}
