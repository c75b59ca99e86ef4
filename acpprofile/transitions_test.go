package acpprofile_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/acpprofile"
)

var update0 = flag.Bool("update", false, "write the transition table anew")

// TestTransitionTable prints what every state makes of every kind of input.
func TestTransitionTable(t *testing.T) {
	model := acpprofile.Config{Client: "codex", MaxTurns: 2, ModeID: "m", Configuration: []acpprofile.Setting{{ID: "model", Value: "v"}}}
	asked := func(t *testing.T, c acpprofile.Config) *rig {
		r := newRig(t, c)
		r.mustAsk("initialize", hello)
		return r
	}
	opening := func(t *testing.T, c acpprofile.Config) *rig {
		r := initialized(t, c)
		r.mustAsk("session/new", work)
		return r
	}
	refused := func(t *testing.T, c acpprofile.Config) *rig {
		r := prompted(t, c)
		r.native(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"x"}}`, r.id))
		return r
	}
	cancelled := func(t *testing.T, c acpprofile.Config) *rig {
		r := prompted(t, c)
		r.raw(cancel)
		return r
	}
	closing := func(t *testing.T, c acpprofile.Config) *rig {
		r := settled(t, c)
		r.mustAsk("session/close", owned)
		return r
	}
	states := []struct {
		name string
		make func(*testing.T, acpprofile.Config) *rig
	}{
		{"new", newRig}, {"initializing", asked}, {"initialized", initialized}, {"opening", opening}, {"open", opened}, {"ready", ready},
		{"prompting", prompted}, {"cancelling", cancelled}, {"settled", settled}, {"refused", refused}, {"closing", closing},
	}
	inputs := []struct {
		name string
		give func(r *rig) string
	}{
		{"initialize", func(r *rig) string { return r.ask("initialize", hello) }},
		{"new", func(r *rig) string { return r.ask("session/new", work) }},
		{"configure", func(r *rig) string {
			return r.ask("session/set_config_option", `{"sessionId":"s","configId":"model","value":"v"}`)
		}},
		{"mode", func(r *rig) string { return r.ask("session/set_mode", `{"sessionId":"s","modeId":"m"}`) }},
		{"prompt", func(r *rig) string { return r.ask("session/prompt", prompt(`"x"`)) }},
		{"cancel", func(r *rig) string { return r.raw(cancel) }},
		{"close", func(r *rig) string { return r.ask("session/close", owned) }},
		{"requests end", func(r *rig) string { return eof(r.AdapterEOF()) }},
		{"result {}", func(r *rig) string { return r.result(`{}`) }},
		{"error", func(r *rig) string {
			return r.native(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"x"}}`, r.id))
		}},
		{"text", func(r *rig) string {
			return r.native(update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`))
		}},
		{"other update", func(r *rig) string { return r.native(update(`{"sessionUpdate":"usage_update"}`)) }},
		{"warning", func(r *rig) string { return r.native(update(warningAt(`{"version":1,"severity":"warning"}`))) }},
		{"failure", func(r *rig) string { return r.native(update(warningAt(`{"version":1,"severity":"error"}`))) }},
		{"permission", func(r *rig) string {
			return r.native(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{}}`)
		}},
		{"output ends", func(r *rig) string { return eof(r.NativeEOF()) }},
	}
	var table strings.Builder
	table.WriteString("state         input          outcome\n")
	for _, s := range states {
		for _, in := range inputs {
			fmt.Fprintf(&table, "%-13s %-14s %s\n", s.name, in.name, short(in.give(s.make(t, model))))
		}
	}
	golden := filepath.Join("testdata", "transitions.txt")
	if *update0 {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(table.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), table.String())
}

func eof(err error) string {
	if err != nil {
		return "FAIL"
	}
	return "end"
}

// short says what happened without the bytes.
func short(words string) string {
	switch {
	case strings.HasPrefix(words, "FAIL native native"):
		return "fail: native session"
	case strings.HasPrefix(words, "FAIL"):
		return "fail"
	case words == "-":
		return "withheld"
	case strings.HasPrefix(words, "native ") && strings.Contains(words, "outcome"):
		return "answered"
	case strings.HasPrefix(words, "native "):
		return "forwarded"
	case strings.HasPrefix(words, "adapter "):
		return "projected"
	}
	return words
}
