import { defineBinding } from "@jigging/jig"

// The Agent of this project: the Flow in flows/agent with a native client lent to
// its slot. `jig review` shows this grant, and it holds only once you approve it.
// A grant may also name a model, maxTurns (1 to 8) and retainSessions: true.
export default defineBinding({
  package: "./flows/agent",
  slots: { native: { kind: "acp", client: "codex" } },
})
