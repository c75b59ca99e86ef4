package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/review"
)

// row is one line of what a person reads before they decide: what it is, and its
// value. Several rows of one label are a list. Both are escaped.
type row struct{ label, value string }

// markedRow is a row of one side of a change, with "- " or "+ ", or of both.
type markedRow struct {
	mark string
	row
}

// rowsOf is one side of a change in words, nil for a side that is not there.
func rowsOf(kind string, v jsontext.Value) []row {
	if v == nil {
		return nil
	}
	m := members(v)
	switch {
	case kind == review.KindSettings:
		return flatRows("", v)
	case kind == review.KindAgents:
		return listRows("client", v, compact)
	case m == nil:
		return []row{{"", compact(v)}}
	case kind == review.KindGrant:
		return slices.Concat([]row{{"package", compact(m["package"])}, {"contract", contractText(m["contract"])}}, policyRows(m["policy"]))
	case kind == review.KindTarget:
		rows := []row{{"package", compact(m["package"])}}
		if m["notRunnable"] != nil {
			rows = append(rows, row{"state", "it cannot be run; the reason stands under Targets"})
		}
		return rows
	case kind == review.KindSlot:
		return slotRows(m)
	case kind == review.KindContract:
		return []row{{"contract", contractText(v)}, {"digest", compact(m["digest"])}}
	case kind == review.KindProvider:
		return providerRows(m)
	}
	return flatRows("", v)
}

// contractText is a contract by its name.
func contractText(v jsontext.Value) string {
	m := members(v)
	if m == nil {
		return "none is asked for"
	}
	return compact(m["id"]) + " " + compact(m["version"])
}

// policyRows say what a grant allows.
func policyRows(policy jsontext.Value) []row {
	g, err := author.ParseGrant(policy)
	switch {
	case err != nil:
		return flatRows("policy", policy)
	case g.ACP != nil:
		model, sessions := escape(g.ACP.Model), "are not kept"
		if model == "" {
			model = "none is named"
		}
		if g.ACP.RetainSessions {
			sessions = "may be kept"
		}
		return []row{
			{"client", g.ACP.Client}, {"model", model}, {"prompts", fmt.Sprintf("%d at most in a conversation", max(g.ACP.MaxTurns, 1))}, {"sessions", sessions},
		}
	}
	h := g.HTTP
	token := "none"
	if h.BearerEnv != "" {
		token = "the content of the variable " + h.BearerEnv
	}
	rows := []row{
		{"request", h.Method + " " + escape(h.URL)}, {"bearer token", token},
		{"sent", fmt.Sprintf("%d bytes at most", h.RequestBytes)}, {"received", fmt.Sprintf("%d bytes at most", h.ResponseBytes)},
		{"time", fmt.Sprintf("%d ms at most", h.TimeoutMS)},
	}
	if h.BodySchema != nil {
		rows = append(rows, flatRows("body", h.BodySchema)...)
	}
	return rows
}

var originWords = map[string]string{
	project.OriginExplicit: "the Binding", project.OriginDefault: "defaultProviders", project.OriginOnly: "jig, as the only target that fits",
}

func slotRows(m map[string]jsontext.Value) []row {
	if compact(m["kind"]) == project.KindNone {
		return []row{{"filled by", "nothing yet; the reason stands under Targets"}}
	}
	rows := []row{{"filled by", compact(m["target"])}}
	if by, ok := originWords[compact(m["origin"])]; ok {
		rows = append(rows, row{"chosen by", by})
	}
	return rows
}

const labelVariable = "variable"

// providerLabels are the members of what a native client is, in the order in which
// they are shown, and what null means there.
var providerLabels = []struct{ name, label, none string }{
	{"identity", "identity", ""}, {"kind", "kind", ""}, {"contract", "contract", "none"}, {"client", "client", "none"}, {"model", "model", "the client's own choice"},
	{"mode", "sign-in", ""}, {"endpoint", "endpoint", "the client's own"}, {"proxy", "proxy", "none"}, {"ca", "certificates", "those of the system"},
	{"executable", "executable", "none"}, {"helper", "helper", "none"}, {"files", "file", ""}, {"adapter", "jig's adapter", "none"},
	{"argv", "argument", ""}, {"env", labelVariable, ""}, {"configuration", "setting", "none"}, {"modeId", "mode", "none"},
	{"startup", "signed in at start", ""}, {"nestedUserns", "own namespaces", ""},
}

// providerRows are what a client is started with, one item a row.
func providerRows(m map[string]jsontext.Value) []row {
	var rows []row
	for _, l := range providerLabels {
		v, there := m[l.name]
		switch {
		case !there:
		case v.Kind() == 'n':
			rows = append(rows, row{l.label, l.none})
		case l.name == "executable" || l.name == "helper":
			rows = append(rows, row{l.label, fileText(v)})
		case l.name == "files":
			rows = append(rows, listRows(l.label, v, fileText)...)
		case l.name == "argv":
			rows = append(rows, listRows(l.label, v, func(v jsontext.Value) string { return quoted(compact(v)) })...)
		case l.name == "env":
			env := members(v)
			for _, name := range slices.Sorted(maps.Keys(env)) {
				rows = append(rows, row{l.label, escape(name) + "=" + compact(env[name])})
			}
		case l.name == "configuration":
			rows = append(rows, listRows(l.label, v, settingText)...)
		default:
			rows = append(rows, row{l.label, plainly(v)})
		}
	}
	return rows
}

// fileText is a file: its role, where it is and what it holds.
func fileText(v jsontext.Value) string {
	m := members(v)
	text := compact(m["path"]) + " " + compact(m["digest"])
	if role := compact(m["role"]); role != "" {
		return role + " " + text
	}
	return text
}

// settingText is what a client is set to in its conversation.
func settingText(v jsontext.Value) string {
	m := members(v)
	return compact(m["configId"]) + "=" + compact(m["value"])
}

// quoted is text in quotes that no quote inside it ends.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }

// noItem stands for a list without items.
const noItem = "none"

// listRows are the items of a list, each a row.
func listRows(label string, v jsontext.Value, text func(jsontext.Value) string) []row {
	var items []jsontext.Value
	if v.Kind() != '[' || json0.Decode(v, &items) != nil {
		return []row{{label, plainly(v)}}
	}
	if len(items) == 0 {
		return []row{{label, noItem}}
	}
	var rows []row
	for _, item := range items {
		rows = append(rows, row{label, text(item)})
	}
	return rows
}

// flatRows are the scalars inside a value, each with the way to it.
func flatRows(at string, v jsontext.Value) []row {
	var items []jsontext.Value
	switch v.Kind() {
	case '{':
		m := members(v)
		if len(m) == 0 {
			return []row{{at, "empty"}}
		}
		var rows []row
		for _, name := range slices.Sorted(maps.Keys(m)) {
			rows = append(rows, flatRows(wayTo(at, escape(name)), m[name])...)
		}
		return rows
	case '[':
		if json0.Decode(v, &items) != nil || len(items) == 0 {
			return []row{{at, "empty"}}
		}
		var rows []row
		for i, item := range items {
			rows = append(rows, flatRows(wayTo(at, strconv.Itoa(i)), item)...)
		}
		return rows
	case '"':
		return []row{{at, quoted(compact(v))}}
	}
	return []row{{at, compact(v)}}
}

// maxWay is how many bytes the way to a value has at most.
const maxWay = 200

// wayTo is the way to a member or an item; of a long one its end. Names are an
// author's, and each stands in the way to everything below it.
func wayTo(at, name string) string {
	way := strings.TrimPrefix(at+"."+name, ".")
	if len(way) > maxWay {
		way = "…" + strings.ToValidUTF8(way[len(way)-maxWay:], "")
	}
	return way
}
