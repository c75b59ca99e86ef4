package engine

import _ "embed"

// Types is a TypeScript declaration file for the modules `@jigging/flow`,
// `@jigging/agent-method` and `@jigging/jig`. `jig init` writes it as jig.d.ts.
//
//go:embed jig.d.ts
var Types string
