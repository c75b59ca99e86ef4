// What an answer is worth: how the agent stopped, and whether its text fits what
// was asked for.

import { OperationError } from "@jigging/flow"
import { AgentMethodError, finishAgent, type AgentResult, type PreparedAgent } from "@jigging/agent-method"
import type { TurnEnd } from "./native.ts"

/** Gives what the method refuses the code that a Flow fails with. */
export function method<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (error instanceof AgentMethodError) throw new OperationError(error.code, error.message)
    throw error
  }
}

const stops: { readonly [reason: string]: "end-turn" | "refusal" | "limit" | undefined } = {
  end_turn: "end-turn",
  refusal: "refusal",
  max_tokens: "limit",
  max_turn_requests: "limit",
}

/** Makes the Agent's result of how a turn ended. */
export function judge(prepared: PreparedAgent, end: TurnEnd): AgentResult {
  if (end.stopReason === "cancelled") throw new OperationError("CANCELLED", "The native agent was interrupted.")
  const stop = Object.hasOwn(stops, end.stopReason) ? stops[end.stopReason] : undefined
  if (!stop) throw new OperationError("INVALID_RESULT", "The native agent stopped for an unknown reason.")
  return method(() => finishAgent(prepared, { outcome: "done", output: { text: end.text, stop } }))
}
