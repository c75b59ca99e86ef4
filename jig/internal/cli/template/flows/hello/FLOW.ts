import { handle } from "@jigging/flow"

await handle(async (run) => {
  const name = typeof run.input === "string" ? run.input : "world"
  return { outcome: "done", output: `Hello, ${name}!` }
})
