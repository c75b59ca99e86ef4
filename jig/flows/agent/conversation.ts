// Several turns, led by the caller over two channels. The input of the call is
// turn 0. Every command is accepted or rejected, in order; a turn ends with a
// result, cancelled, or an error when its answer does not fit.

import { OperationError, type ChannelReceiver, type ChannelSender, type JsonValue } from "@jigging/flow"
import { AgentMethodError, prepareAgent, type PreparedAgent } from "@jigging/agent-method"
import { judge } from "./answer.ts"
import type { Native, TurnEnd } from "./native.ts"

const COMMANDS = 64
const REPLY_BYTES = 65536
const REPLY_MS = 5000
const END_MS = 5000

type Command =
  | { readonly type: "prompt"; readonly turn: number; readonly input: JsonValue }
  | { readonly type: "interrupt" | "close"; readonly turn: number }
type Rejection = "BUSY" | "STALE_TURN" | "TURN_LIMIT" | "INVALID_INPUT" | "NOT_RUNNING"

export class Conversation {
  readonly #native: Native
  readonly #commands: ChannelReceiver
  readonly #replies: ChannelSender

  #turn = -1
  #running = false
  #interrupted = false
  #fail!: (error: unknown) => void
  readonly #failed = new Promise<never>((_, reject) => (this.#fail = reject))

  constructor(native: Native, commands: ChannelReceiver, replies: ChannelSender) {
    this.#native = native
    this.#commands = commands
    this.#replies = replies
    this.#failed.catch(() => {})
  }

  /** Leads the conversation to its end and returns how many turns it had. */
  async lead(first: PreparedAgent): Promise<number> {
    this.#begin(first)
    for (let count = 0; ; count++) {
      const item = await this.#unlessFailed(this.#commands.next())
      if (item.done) throw new OperationError("DISCONNECTED", "The commands ended before the conversation was closed.")
      if (count === COMMANDS) throw new OperationError("RESOURCE_EXHAUSTED", "A conversation takes 64 commands.")
      if (await this.#unlessFailed(this.#obey(item.value as Command))) break
    }
    await this.#ended()
    await this.#replies.close()
    return this.#turn + 1
  }

  /** Answers a command; true says that it closed the conversation. */
  async #obey(command: Command): Promise<boolean> {
    const { type, turn } = command
    const reject = async (code: Rejection) => {
      await this.#reply({ type: "rejected", command: type, turn, code })
      return false
    }
    const accepted = { type: "accepted", command: type, turn }
    switch (type) {
      case "prompt": {
        if (this.#running) return reject("BUSY")
        if (turn !== this.#turn + 1) return reject("STALE_TURN")
        if (turn >= this.#native.maxTurns) return reject("TURN_LIMIT")
        const prepared = prepare(command.input)
        if (!prepared) return reject("INVALID_INPUT")
        await this.#reply(accepted)
        this.#begin(prepared)
        return false
      }
      case "interrupt": {
        if (!this.#running) return reject("NOT_RUNNING")
        if (turn !== this.#turn) return reject("STALE_TURN")
        if (this.#interrupted) return reject("BUSY")
        this.#interrupted = true
        const told = this.#reply(accepted) // before whatever the interruption brings
        await this.#native.interrupt()
        await told
        return false
      }
      case "close":
        if (this.#running) return reject("BUSY")
        if (turn !== this.#turn) return reject("STALE_TURN")
        await this.#reply(accepted)
        return true
    }
  }

  #begin(prepared: PreparedAgent): void {
    this.#turn++
    this.#running = true
    this.#interrupted = false
    this.#take(prepared, this.#turn).catch(this.#fail)
  }

  async #take(prepared: PreparedAgent, turn: number): Promise<void> {
    const end = await this.#native.prompt(prepared.request.prompt)
    this.#running = false
    await this.#reply(end.stopReason === "cancelled" ? { type: "cancelled", turn } : outcome(prepared, end, turn))
  }

  async #reply(reply: { readonly [name: string]: JsonValue }): Promise<void> {
    if (Buffer.byteLength(JSON.stringify(reply)) > REPLY_BYTES) throw new OperationError("RESOURCE_EXHAUSTED", "A reply is larger than 64 KiB.")
    const limit = AbortSignal.timeout(REPLY_MS)
    try {
      await this.#replies.send(reply, { signal: limit })
    } catch (error) {
      throw limit.aborted ? new OperationError("DISCONNECTED", "Nobody took a reply within 5 seconds.") : error
    }
  }

  /** Waits for the end of the commands, which the caller owes after its close. */
  async #ended(): Promise<void> {
    const limit = AbortSignal.timeout(END_MS)
    let item
    try {
      item = await this.#unlessFailed(this.#commands.next({ signal: limit }))
    } catch (error) {
      throw limit.aborted ? new OperationError("EXECUTION_FAILED", "The commands did not end within 5 seconds of the conversation's close.") : error
    }
    if (!item.done) throw new OperationError("INVALID_INPUT", "A command came after the conversation was closed.")
  }

  #unlessFailed<T>(wait: Promise<T>): Promise<T> {
    return Promise.race([wait, this.#failed, this.#native.failed])
  }
}

/** The prompt of a further turn, or nothing where the input cannot be one. */
function prepare(input: JsonValue): PreparedAgent | undefined {
  const { instructions, guidance, responseSchema, ...others } = input as { readonly [name: string]: JsonValue }
  if (Object.keys(others).length > 0) return undefined
  try {
    return prepareAgent(input)
  } catch (error) {
    if (error instanceof AgentMethodError) return undefined
    throw error
  }
}

function outcome(prepared: PreparedAgent, end: TurnEnd, turn: number): { readonly [name: string]: JsonValue } {
  try {
    return { type: "result", turn, result: judge(prepared, end) }
  } catch (error) {
    if (error instanceof OperationError && error.code === "INVALID_RESULT") return { type: "error", turn, code: error.code, message: error.message }
    throw error
  }
}
