package acp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// told are the diagnostics about the provider that the operator got.
func (r *rig) told() (messages, hints []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Diagnostic.Code == acp.CodeProvider {
			messages, hints = append(messages, e.Diagnostic.Message), append(hints, e.Diagnostic.Hint)
		}
	}
	return messages, hints
}

// A client that answers with an error and has no word for it leaves the operator with
// nothing, unless the host says that it was one and where to look.
func TestAnErrorOfNoKnownKindIsToldToTheOperator(t *testing.T) {
	// rule: J-213
	const failure = `"error":{"code":-32603,"message":"canary","data":"canary"}`
	for name, c := range map[string]struct {
		asked      string
		categories []launch.Category
		want, hint string
	}{
		"a prompt":        {"session/prompt", nil, "refused its request or could not serve it", "run codex once outside jig"},
		"no word":         {"session/prompt", []launch.Category{""}, "refused its request or could not serve it", "run codex once outside jig"},
		"the session":     {"session/new", nil, "answered with an error and did not say of what kind", "run codex once outside jig"},
		"a known kind":    {"session/prompt", []launch.Category{launch.Auth, launch.Auth}, "refused the credential", "jig doctor codex"},
		"no error at all": {"", nil, "", ""},
	} {
		bubble(t, func(r *rig) {
			code := 0
			r.peer = func(p *peer) {
				for {
					line := p.line()
					switch {
					case line == "":
						p.report(acp.Evidence{Seen: true, Code: &code, Categories: c.categories})
						return
					case method(line) == c.asked:
						p.answer(line, failure)
					case p.common(line):
					default:
						p.text(`,"error":{"code":` + strings.Repeat("x", 3))
						p.answer(line, settles)
					}
				}
			}
			r.start()
			r.next()
			r.ask(1, "initialize", initialize, offered)
			if c.asked == "session/new" {
				r.send(request(2, "session/new", newSession))
				r.next()
			} else {
				r.ask(2, "session/new", newSession, `"result":`+session)
				r.send(request(3, "session/prompt", prompt("hello")))
				r.settled(3)
			}
			r.close()
			r.succeeds(exited)
			messages, hints := r.told()
			if c.want == "" {
				require.Empty(t, messages, name)
				return
			}
			require.Len(t, messages, 1, name)
			require.Contains(t, messages[0], c.want, name)
			require.Contains(t, hints[0], c.hint, name)
			require.NotContains(t, messages[0]+hints[0], "canary")
		})
	}
}

func TestEachKindOfTroubleHasWhereToLook(t *testing.T) {
	// rule: J-213
	for _, c := range []launch.Category{launch.Auth, launch.Rate, launch.Network, launch.Model, launch.Service, launch.Expired} {
		bubble(t, func(r *rig) {
			code := 0
			r.peer = func(p *peer) {
				agent(p)
				p.report(acp.Evidence{Seen: true, Code: &code, Categories: []launch.Category{c}})
			}
			r.oneTurn()
			r.succeeds(exited)
			messages, hints := r.told()
			require.Len(t, messages, 1, c)
			require.Contains(t, hints[0], "codex", c)
			require.NotContains(t, hints[0], "%", c)
			if c == launch.Model { // a task that is too long for its model is one of those
				require.Contains(t, messages[0], "limit")
			}
		})
	}
}
