package codex

import "github.com/go-json-experiment/json/jsontext"

// Arguments are those of the program: where the model is asked, if that is not
// Codex's own endpoint, and the selected model. The model stands here although it is
// configured in the conversation too: Codex tells a model that comes only after the
// start of a thread that another one was there before it.
func Arguments(endpoint, model string) []string {
	args := []string{"app-server"}
	for _, s := range []struct{ key, value string }{{"model_providers.jig.base_url", endpoint}, {"model", model}} {
		if s.value != "" {
			v, _ := jsontext.AppendQuote(nil, s.value) // a JSON string is a TOML string
			args = append(args, "-c", s.key+"="+string(v))
		}
	}
	return args
}

// Env is what the program needs in its environment beside what every client has.
// home is Codex's own folder, which is never below /tmp.
func Env(home string) map[string]string { return map[string]string{homeVariable: home} }

const homeVariable = "CODEX_HOME"
