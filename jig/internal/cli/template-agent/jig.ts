import { defineJig, discover } from "@jigging/jig"

// What this project is made of. `jig review` evaluates this file, without any
// power, and shows what it asks for; nothing runs before you approve it.
export default defineJig({
  flows: discover("./flows"),
  bindings: discover("./bindings"),
  grants: discover("./grants"),
  // Flows that call an Agent get this one where their Binding names none.
  defaultProviders: { "https://jig.md/contracts/agent-run": "binding:agent" },
})
