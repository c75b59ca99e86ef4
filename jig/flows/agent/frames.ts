// One ACP message is one frame of JSON text. It crosses a channel in fragments,
// because an item of a channel is small.

import { OperationError, type JsonValue } from "@jigging/flow"

const FRAGMENT_BYTES = 8192

// What a host may send in one conversation.
const FRAME_BYTES = 16 * 1024 * 1024
const ALL_BYTES = 32 * 1024 * 1024
const FRAMES = 8192
const FRAGMENTS = 16384

export type Fragment = { readonly kind: "data"; readonly text: string; readonly end: boolean }

/** The host did something that the protocol does not have. */
export function broken(): OperationError {
  return new OperationError("EXECUTION_FAILED", "The native conversation did not follow its protocol.")
}

/** Cuts a frame between characters. The last piece says that it is the last. */
export function* fragments(frame: string): Generator<Fragment, void, undefined> {
  const bytes = new TextEncoder().encode(frame)
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(from + FRAGMENT_BYTES, bytes.length)
    while (to < bytes.length && (bytes[to]! & 0xc0) === 0x80) to--
    yield { kind: "data", text: decoder.decode(bytes.subarray(from, to)), end: to === bytes.length }
    from = to
  }
}

/** Puts fragments together again, and counts before it keeps anything. */
export class FrameReader {
  #parts: string[] = []
  #size = 0
  #total = 0
  #frames = 0
  #fragments = 0

  /** Whether a frame has begun and not ended. */
  get partial(): boolean {
    return this.#parts.length > 0
  }

  /** Returns the frame that the item completes, if it does. */
  add(item: JsonValue): string | undefined {
    const { text, end } = fragment(item)
    const bytes = Buffer.byteLength(text)
    this.#fragments++
    this.#size += bytes
    this.#total += bytes
    if (text === "" || bytes > FRAGMENT_BYTES || this.#fragments > FRAGMENTS || this.#size > FRAME_BYTES || this.#total > ALL_BYTES) throw broken()
    if (end && ++this.#frames > FRAMES) throw broken()
    this.#parts.push(text)
    if (!end) return undefined
    const frame = this.#parts.join("")
    this.#parts = []
    this.#size = 0
    return frame
  }
}

function fragment(item: JsonValue): Fragment {
  if (typeof item === "object" && item !== null && !Array.isArray(item)) {
    const { kind, text, end, ...others } = item as { readonly [name: string]: JsonValue }
    if (kind === "data" && typeof text === "string" && typeof end === "boolean" && Object.keys(others).length === 0) return { kind, text, end }
  }
  throw broken()
}
