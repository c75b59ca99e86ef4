// A Flow that speaks the finite ACP protocol without the ordinary Agent in between,
// so that a test sees what comes and decides what goes.
//
// Input: { prompts: [{ text, cancel?, wait? }], session?, close?, stay?, leave? }
//   cancel   sends session/cancel as soon as the turn has its first text, or right
//            behind the prompt if it is "at once"
//   session  is handed over as the resource's input
//   close    sends session/close after the last turn
//   leave    returns right behind the first prompt, with everything still open
//   stay     is a method that is sent and never waited for, after the last turn
// Output: { ready, turns: [{ stop | error, text }], warnings, result }

import { handle } from "@jigging/flow"

await handle(async (run) => {
  const input = run.input as any
  const up = await run.channel({ contract: "./contracts/requests.json" })
  const down = await run.channel({ contract: "./contracts/responses.json" })
  const call = run.call({
    operationId: "native",
    slot: "native",
    input: input.session ? { session: input.session } : null,
    channels: { requests: up.receive, responses: down.send },
  })
  call.catch(() => {})
  const send = async (message: any) => {
    const text = JSON.stringify(message)
    for (let at = 0; at < text.length; at += 2000) {
      await up.send.send({ kind: "data", text: text.slice(at, at + 2000), end: at + 2000 >= text.length })
    }
  }
  let partial = ""
  const next = async (): Promise<any> => {
    for (;;) {
      const item = await down.receive.next()
      if (item.done) return undefined
      const value = item.value as any
      if (value.kind === "ready") return value
      partial += value.text
      if (value.end) {
        const frame = JSON.parse(partial)
        partial = ""
        return frame
      }
    }
  }
  let id = 0
  let warnings = 0
  let sessionId: string | undefined
  const turn = { text: "", cancel: false, atOnce: false }
  const ask = async (method: string, params: any): Promise<any> => {
    const own = ++id
    await send({ jsonrpc: "2.0", id: own, method, params })
    if (turn.atOnce) {
      turn.atOnce = false
      await send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } })
    }
    for (;;) {
      const frame = await next()
      if (!frame) throw await call.then(() => new Error("the responses ended"), (error) => error)
      if (frame.id === own) return frame
      const update = frame.params.update
      if (update.sessionUpdate === "session_info_update") warnings++
      if (update.sessionUpdate === "agent_message_chunk") {
        if (turn.text === "") console.log("first text")
        turn.text += update.content.text
        if (turn.cancel) {
          turn.cancel = false
          await send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } })
        }
      }
    }
  }
  try {
    // A call that is refused leaves the channels where they are.
    const ready = await Promise.race([next(), call.then(() => undefined)])
    if (!ready) throw await call.then(() => new Error("no ready record"), (error) => error)
    console.log("ready")
    await ask("initialize", { protocolVersion: 1, clientCapabilities: {} })
    const where = { cwd: "/work", mcpServers: [] }
    const begun = ready.restoreSessionId === undefined
      ? await ask("session/new", where)
      : await ask("session/resume", { sessionId: ready.restoreSessionId, ...where })
    sessionId = ready.restoreSessionId ?? begun.result?.sessionId
    const turns: any[] = []
    if (begun.error) {
      turns.push({ error: begun.error })
    } else {
      for (const setting of ready.configuration) await ask("session/set_config_option", { sessionId, ...setting })
      if (ready.modeId !== undefined) await ask("session/set_mode", { sessionId, modeId: ready.modeId })
      for (const prompt of input.prompts) {
        turn.text = ""
        turn.cancel = prompt.cancel === true
        turn.atOnce = prompt.cancel === "at once"
        console.log("prompting")
        if (input.leave) {
          await send({ jsonrpc: "2.0", id: ++id, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: prompt.text }] } })
          return { outcome: "done", output: "left" }
        }
        const reply = await ask("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt.text }] })
        turns.push(reply.error ? { error: reply.error, text: turn.text } : { stop: reply.result.stopReason, text: turn.text })
      }
      if (input.close) await ask("session/close", { sessionId })
      if (input.stay) await send({ jsonrpc: "2.0", id: ++id, method: input.stay, params: {} })
    }
    await up.send.close()
    while (await next()) warnings++
    const result = await call
    return { outcome: "done", output: { ready, turns, warnings, result: result.output } }
  } catch (error) {
    throw await call.then(() => error, (cause) => cause)
  }
})
