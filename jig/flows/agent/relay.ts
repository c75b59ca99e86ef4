// Shows progress to whoever watches, without ever holding the work up. Where the
// watcher cannot follow, the rest is dropped for good, and the stream says so.

import type { ChannelSender, JsonValue } from "@jigging/flow"

const QUEUE_ITEMS = 16
const QUEUE_BYTES = 262144
const ITEM_BYTES = 65536
const SEND_MS = 500

export class Relay {
  #writer: ChannelSender | undefined
  #queue: { readonly item: JsonValue; readonly bytes: number }[] = [] // the first of them is being sent
  #bytes = 0
  #sending: Promise<void> = Promise.resolve()
  #busy = false
  #closing: Promise<void> = Promise.resolve()

  constructor(writer: ChannelSender | undefined) {
    this.#writer = writer
  }

  /** Takes an item to be sent, and does not wait. */
  push(item: JsonValue): void {
    if (!this.#writer) return
    const bytes = Buffer.byteLength(JSON.stringify(item))
    if (bytes > ITEM_BYTES || this.#queue.length === QUEUE_ITEMS || this.#bytes + bytes > QUEUE_BYTES) {
      this.#giveUp(this.#writer)
      return
    }
    this.#queue.push({ item, bytes })
    this.#bytes += bytes
    if (!this.#busy) this.#sending = this.#send(this.#writer)
  }

  async #send(writer: ChannelSender): Promise<void> {
    this.#busy = true
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      const timer = setTimeout(() => this.#giveUp(writer), SEND_MS)
      try {
        await writer.send(next.item)
      } catch {
        this.#giveUp(writer)
      } finally {
        clearTimeout(timer)
      }
      if (!this.#writer) break
      this.#queue.shift()
      this.#bytes -= next.bytes
    }
    this.#busy = false
  }

  #giveUp(writer: ChannelSender): void {
    if (!this.#writer) return
    this.#writer = undefined
    this.#queue = []
    console.warn("Progress is incomplete from here on: its reader did not follow. The work itself goes on.")
    this.#closing = writer.close({ error: "LAGGED" }).catch(() => {})
  }

  /** Waits for what is under way and ends the stream. */
  async end(): Promise<void> {
    await this.#sending
    const writer = this.#writer
    if (writer) {
      try {
        await writer.close()
      } catch {
        this.#giveUp(writer)
      }
      this.#writer = undefined
    }
    await this.#closing
  }
}
