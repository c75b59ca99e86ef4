package source

import (
	"slices"
	"strings"
)

// Names of the engine's own modules.
const (
	Flow        = "@jigging/flow"
	AgentMethod = "@jigging/agent-method"
	Jig         = "@jigging/jig"
)

// offered are the node: modules that exist here, under their names without the
// prefix.
var offered = []string{
	"assert", "assert/strict", "buffer", "console", "crypto", "events", "fs", "fs/promises", "os", "path", "path/posix", "perf_hooks",
	"process", "timers", "timers/promises", "url", "util", "util/types",
}

// withheld are node's other modules, with the reason why a Flow gets none of
// them.
var withheld = map[string]string{}

// prefixed are those that node itself has only with the prefix.
var prefixed = []string{"sea", "sqlite", "test", "test/reporters"}

func init() {
	for reason, names := range map[string]string{
		"a Flow starts no process and no thread":                                 "child_process cluster worker_threads",
		"a Flow has no network; powers come through slots":                       "net tls http https http2 dgram dns dns/promises inspector inspector/promises quic",
		"code cannot be made or loaded at run time":                              "vm module repl wasi",
		"this host has no database and no test runner in a Flow":                 "sqlite test test/reporters sea",
		"this host does not offer it; write the few lines that are needed of it": "async_hooks constants diagnostics_channel domain path/win32 punycode querystring readline readline/promises stream stream/promises stream/consumers stream/web string_decoder sys trace_events tty v8 zlib _http_agent _stream_readable",
	} {
		for name := range strings.FieldsSeq(names) {
			withheld[name] = reason
		}
	}
}

// builtin says what a specifier that may be one of node's modules is: its name
// here, a refusal, or neither.
func builtin(specifier string) (name string, no *Problem) {
	bare, isPrefixed := strings.CutPrefix(specifier, "node:")
	if slices.Contains(offered, bare) {
		return "node:" + bare, nil
	}
	reason, known := withheld[bare]
	switch {
	case known && (isPrefixed || !slices.Contains(prefixed, bare)):
		return "", refused(specifier, reason, "")
	case isPrefixed:
		return "", refused(specifier, "there is no such module here", "offered are node:"+strings.Join(offered, ", node:"))
	}
	return "", nil
}
