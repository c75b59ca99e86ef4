import { handle } from "@jigging/flow"
import { agent } from "./agent.ts"

await handle(agent)
