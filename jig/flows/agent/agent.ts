// The ordinary Agent: it renders a task into one prompt, lets a native coding
// agent work on it through the slot `native`, and checks the answer. It is the
// whole method, so this is the place to change what an Agent of yours does. What
// it may do at all is the host's business and cannot be changed from here.

import { OperationError, type ChannelReceiver, type ChannelSender, type RunContext, type RunResult } from "@jigging/flow"
import { prepareAgent } from "@jigging/agent-method"
import { judge, method } from "./answer.ts"
import { Conversation } from "./conversation.ts"
import { Native } from "./native.ts"
import { Relay } from "./relay.ts"

export async function agent(run: RunContext): Promise<RunResult> {
  const { events, caller } = accept(run)
  const prepared = method(() => prepareAgent(run.input))
  const relay = new Relay(events)
  const native = new Native(run, prepared.session, (update, turn) => relay.push(caller ? { ...update, turn } : update))
  try {
    await native.open()
    if (caller) {
      const turns = await new Conversation(native, caller.commands, caller.replies).lead(prepared)
      const session = await native.close()
      return { outcome: "done", output: session ? { turns, session } : { turns } }
    }
    const end = await native.prompt(prepared.request.prompt)
    const session = await native.close() // whatever the answer is worth
    const { outcome, output } = judge(prepared, end)
    return { outcome, output: session ? { ...output, session } : output }
  } catch (error) {
    throw await native.failure(error)
  } finally {
    await relay.end()
  }
}

interface Caller {
  readonly commands: ChannelReceiver
  readonly replies: ChannelSender
}

/** Refuses what the run brings beside its input and has no use here. */
function accept(run: RunContext): { events?: ChannelSender; caller?: Caller } {
  const refuse = (why: string) => new OperationError("INVALID_INPUT", why)
  if (Object.keys(run.settings).length > 0) throw refuse("The Agent takes no settings.")
  if (Object.keys(run.attachments).length > 0) throw refuse("The Agent takes no attachments.")
  const { events, commands, replies, ...others } = run.channels
  if (Object.keys(others).length > 0) throw refuse("The Agent takes the channels events, commands and replies, and no others.")
  if (events && events.direction !== "send") throw refuse("The channel events is one that the Agent sends on.")
  const found: { events?: ChannelSender; caller?: Caller } = events ? { events } : {}
  const asked = typeof run.input === "object" && run.input !== null && "conversation" in run.input
  if (!asked && !commands && !replies) return found
  if (!asked || !commands || !replies) throw refuse("A conversation needs conversation: true and both channels, commands and replies.")
  if (commands.direction !== "receive" || commands.delivery !== "direct" || replies.direction !== "send" || replies.delivery !== "direct") {
    throw refuse("commands is received and replies is sent, both of them directly.")
  }
  return { ...found, caller: { commands, replies } }
}
