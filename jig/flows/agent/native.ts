// One conversation with a native agent, over the finite ACP resource in the slot
// `native`. The host decides what may be said, in which order and how often; this
// file says it. A reply, the end of a channel and the result of the call are three
// different facts, and a conversation has gone well only when all three say so.

import { OperationError, type ChannelReceiver, type ChannelSender, type JsonValue, type RunContext, type RunResult } from "@jigging/flow"
import type { AgentSessionReceipt, AgentSessionRequest } from "@jigging/agent-method"
import { broken, fragments, FrameReader } from "./frames.ts"

const ANSWER_BYTES = 8 * 1024 * 1024

type Members = { readonly [name: string]: JsonValue }

/** What the agent shows while it works. */
export type Update =
  | { readonly sessionUpdate: "agent_message_chunk"; readonly content: { readonly type: "text"; readonly text: string }; readonly messageId?: string }
  | { readonly sessionUpdate: "plan"; readonly entries: readonly { readonly content: string; readonly priority: string; readonly status: string }[] }

export interface TurnEnd {
  readonly stopReason: string
  readonly text: string
}

interface Ready {
  readonly maxTurns: number
  readonly configuration: readonly Members[]
  readonly modeId?: string
  readonly restoreSessionId?: string
}

/** The native client answered a request with an error. That ends the conversation in order. */
class NativeError extends Error {
  readonly method: string
  readonly code: JsonValue | undefined
  readonly data: JsonValue | undefined
  constructor(method: string, error: Members) {
    super("native error")
    this.method = method
    this.code = error.code
    this.data = error.data
  }
}

/** One of the two channels broke. Why, the call of the resource knows. */
class Lost extends Error {
  readonly reason: unknown
  constructor(reason: unknown) {
    super("lost")
    this.reason = reason
  }
}

export class Native {
  readonly #run: RunContext
  readonly #session: AgentSessionRequest | undefined
  readonly #show: (update: Update, turn: number) => void
  readonly #abandon = new AbortController()

  #requests!: ChannelSender
  #responses!: ChannelReceiver
  #call: Promise<RunResult> | undefined
  #ready!: Ready
  #sessionId: string | undefined

  #lastId = 0
  #turn = -1
  #text: string[] | undefined // of the turn under way
  #textBytes = 0 // of all turns
  #pending: { readonly id: number; readonly method: string; readonly settle: (reply: Members) => void } | undefined
  #writing: Promise<void> = Promise.resolve()
  #closing = false
  #warned = false

  #begun!: (ready: Ready) => void
  #finished!: () => void
  #fail!: (error: unknown) => void
  readonly #begins = new Promise<Ready>((resolve) => (this.#begun = resolve))
  readonly #ends = new Promise<void>((resolve) => (this.#finished = resolve))
  /** Rejects when the conversation cannot go on. */
  readonly failed = new Promise<never>((_, reject) => (this.#fail = reject))

  constructor(run: RunContext, session: AgentSessionRequest | undefined, show: (update: Update, turn: number) => void) {
    this.#run = run
    this.#session = session
    this.#show = show
    this.failed.catch(() => {}) // somebody may wait for it only later
  }

  get maxTurns(): number {
    return this.#ready.maxTurns
  }

  /** Starts the resource and goes through everything that precedes a prompt. */
  async open(): Promise<void> {
    const requests = await this.#run.channel({ contract: "./contracts/finite-acp/requests.json" })
    const responses = await this.#run.channel({ contract: "./contracts/finite-acp/responses.json" })
    this.#requests = requests.send
    this.#responses = responses.receive
    this.#call = this.#run.call(
      {
        operationId: "native",
        slot: "native",
        input: this.#session ? { session: { ...this.#session } } : null,
        channels: { requests: requests.receive, responses: responses.send },
      },
      { signal: this.#abandon.signal },
    )
    this.#call.catch(this.#fail)
    this.#read().catch(this.#fail)

    this.#ready = await this.#essential(this.#begins)
    const restored = this.#ready.restoreSessionId
    const restores = this.#session !== undefined && "restore" in this.#session
    if ((restored !== undefined) !== restores) throw broken()

    const about = await this.#request("initialize", { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "jig-agent", version: "0.1.0" } })
    if (about.protocolVersion !== 1) throw broken()
    const where = { cwd: "/work", mcpServers: [] }
    if (restored === undefined) {
      await this.#request("session/new", where)
    } else {
      if (!isMembers(member(member(about, "agentCapabilities"), "sessionCapabilities")?.resume)) {
        throw new OperationError("EXECUTION_FAILED", "The native agent cannot take up a session.")
      }
      await this.#request("session/resume", { sessionId: restored, ...where })
    }
    const sessionId = this.#sessionId
    if (sessionId === undefined) throw broken()
    for (const setting of this.#ready.configuration) {
      const result = await this.#request("session/set_config_option", { sessionId, ...setting })
      const options = Array.isArray(result.configOptions) ? (result.configOptions as readonly JsonValue[]).filter(isMembers) : []
      const confirmed = options.filter((option) => option.id === setting.configId)
      if (confirmed.length !== 1 || confirmed[0]!.currentValue !== setting.value) throw broken()
    }
    if (this.#ready.modeId !== undefined) await this.#request("session/set_mode", { sessionId, modeId: this.#ready.modeId })
  }

  /** Has one turn: the prompt, and the text that comes until it is settled. */
  async prompt(text: string): Promise<TurnEnd> {
    const parts: string[] = []
    this.#turn++
    this.#text = parts
    const result = await this.#request("session/prompt", { sessionId: this.#sessionId!, prompt: [{ type: "text", text }] })
    if (typeof result.stopReason !== "string") throw broken()
    return { stopReason: result.stopReason, text: parts.join("") }
  }

  /** Asks for the turn under way to stop. The turn settles by itself. */
  async interrupt(): Promise<void> {
    if (this.#text) await this.#send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: this.#sessionId! } })
  }

  /** Ends the conversation after its last turn and waits for everything of it. */
  async close(): Promise<AgentSessionReceipt | undefined> {
    this.#closing = true
    await this.#essential(lost(this.#writing.then(() => this.#requests.close())))
    await this.#essential(this.#ends)
    return settlement(await this.#call!, this.#session !== undefined)
  }

  /**
   * Ends what is still there after a failure, and returns the failure to report.
   * Where a channel broke, the call knows more than the channel; in every other
   * case nobody waits for the call any longer, and the host ends it.
   */
  async failure(error: unknown): Promise<unknown> {
    if (!this.#call) return error
    let reported: unknown = error instanceof Lost ? error.reason : error
    if (error instanceof NativeError) {
      reported = new OperationError("EXECUTION_FAILED", explain(error))
      try {
        await this.close()
        return reported
      } catch (later) {
        error = later
      }
    }
    if (!(error instanceof Lost)) this.#abandon.abort()
    try {
      await this.#call
    } catch (cause) {
      if (error instanceof Lost || cause === error) return cause
    }
    return reported
  }

  async #request(method: string, params: Members): Promise<Members> {
    const id = ++this.#lastId
    const reply = new Promise<Members>((settle) => (this.#pending = { id, method, settle }))
    await this.#send({ jsonrpc: "2.0", id, method, params })
    const { result, error } = await this.#essential(reply)
    if (isMembers(error)) throw new NativeError(method, error)
    if (!isMembers(result)) throw broken()
    return result
  }

  /** Sends one frame after the other. */
  #send(message: Members): Promise<void> {
    const sent = this.#writing.then(async () => {
      for (const fragment of fragments(JSON.stringify(message))) await this.#essential(lost(this.#requests.send(fragment)))
    })
    this.#writing = sent.catch(() => {})
    return sent
  }

  #essential<T>(wait: Promise<T>): Promise<T> {
    return Promise.race([wait, this.failed])
  }

  async #read(): Promise<void> {
    const frames = new FrameReader()
    let ready = false
    for (;;) {
      const item = await lost(this.#responses.next())
      if (item.done) {
        if (!this.#closing || frames.partial || this.#pending) throw new Lost(broken())
        this.#finished()
        return
      }
      if (!ready) {
        this.#begun(readReady(item.value))
        ready = true
        continue
      }
      const frame = frames.add(item.value)
      if (frame !== undefined) this.#message(parse(frame))
    }
  }

  #message(message: JsonValue): void {
    if (!isMembers(message) || message.jsonrpc !== "2.0") throw broken()
    if (message.method !== undefined) {
      this.#notification(message)
      return
    }
    const pending = this.#pending
    if (!pending || message.id !== pending.id || isMembers(message.result) === isMembers(message.error)) throw broken()
    // Here and not where the reply is awaited: the next frame may count on it.
    this.#pending = undefined
    if (pending.method === "session/prompt") this.#text = undefined
    if (isMembers(message.result)) {
      if (pending.method === "session/new" && typeof message.result.sessionId === "string") this.#sessionId = message.result.sessionId
      if (pending.method === "session/resume") this.#sessionId = this.#ready.restoreSessionId
    }
    pending.settle(message)
  }

  #notification(message: Members): void {
    const params = member(message, "params")
    const update = member(params, "update")
    if (message.method !== "session/update" || message.id !== undefined || !update || this.#sessionId === undefined || params?.sessionId !== this.#sessionId) throw broken()
    if (update.sessionUpdate === "session_info_update") {
      if (member(member(update, "_meta"), "notice")?.code !== "NATIVE_WARNING") throw broken()
      if (!this.#warned) console.warn("The native agent gave a warning. What it says is not passed on.")
      this.#warned = true
      return
    }
    const parts = this.#text
    if (!parts) throw broken()
    const shown = readUpdate(update)
    if (shown.sessionUpdate === "agent_message_chunk") {
      this.#textBytes += Buffer.byteLength(shown.content.text)
      if (this.#textBytes > ANSWER_BYTES) throw new OperationError("RESOURCE_EXHAUSTED", "The native agent wrote more than 8 MiB of text.")
      parts.push(shown.content.text)
    }
    this.#show(shown, this.#turn)
  }
}

/** Marks what fails because its channel does. */
function lost<T>(step: Promise<T>): Promise<T> {
  return step.catch((error: unknown) => {
    throw new Lost(error)
  })
}

function isMembers(value: JsonValue | undefined): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function member(value: Members | undefined, name: string): Members | undefined {
  const found = value?.[name]
  return isMembers(found) ? found : undefined
}

function parse(frame: string): JsonValue {
  try {
    return JSON.parse(frame) as JsonValue
  } catch {
    throw broken()
  }
}

/** The contract of the channel has checked the form. */
function readReady(item: JsonValue): Ready {
  if (!isMembers(item) || item.kind !== "ready") throw broken()
  return item as unknown as Ready
}

function readUpdate(update: Members): Update {
  if (update.sessionUpdate === "agent_message_chunk") {
    const text = member(update, "content")?.text
    if (typeof text !== "string") throw broken()
    const shown = { sessionUpdate: update.sessionUpdate, content: { type: "text", text } } as const
    return typeof update.messageId === "string" ? { ...shown, messageId: update.messageId } : shown
  }
  if (update.sessionUpdate !== "plan" || !Array.isArray(update.entries)) throw broken()
  const entries = (update.entries as readonly JsonValue[]).map((entry) => {
    if (!isMembers(entry) || typeof entry.content !== "string" || typeof entry.priority !== "string" || typeof entry.status !== "string") throw broken()
    return { content: entry.content, priority: entry.priority, status: entry.status }
  })
  return { sessionUpdate: "plan", entries }
}

/** What the resource says of its process. The answer is no part of it. */
function settlement(result: RunResult, asked: boolean): AgentSessionReceipt | undefined {
  const output = result.output
  if (result.outcome !== "done" || !isMembers(output) || output.cleanup !== "complete") throw new OperationError("INVALID_RESULT", "The native resource did not say how it ended.")
  if (output.stopReason === "exited" && (output.exitCode !== 0 || output.signal !== null)) {
    throw new OperationError("EXECUTION_FAILED", "The native agent's process failed.")
  }
  if (output.stopReason !== "exited" && output.stopReason !== "closed") throw new OperationError("INVALID_RESULT", "The native resource did not say how it ended.")
  if ((output.session !== undefined) !== asked) throw new OperationError("INVALID_RESULT", "The native resource gave a receipt that does not fit what was asked.")
  return output.session as AgentSessionReceipt | undefined
}

/** Fixed words: what the client says never gets this far. */
function explain(error: NativeError): string {
  if (error.method === "session/new" && error.code === -32603 && isMembers(error.data) && Object.keys(error.data).length === 1 && error.data.reason === "managed-preferences-unavailable") {
    return "The native agent could not begin a session, because the managed preferences of this machine could not be synchronised. Whoever operates this installation should check that managed preferences are configured and available."
  }
  return "The native agent answered with an error. Its cause is not available."
}
