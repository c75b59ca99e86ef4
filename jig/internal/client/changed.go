package client

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// Parts of an admitted client that may differ at a run, as they are named to the
// operator.
const (
	PartExecutable = "executable"
	PartSupport    = "support files"
	PartHelper     = "helper"
	PartAdapter    = "adapter"
	PartEndpoint   = "endpoint"
	PartModel      = "model"
	PartMode       = "mode"
	PartProxy      = "proxy"
	PartCA         = "ca"
	PartLaunch     = "launch profile"
)

// ChangedError names what of a client is not as it was admitted.
type ChangedError struct {
	Client string
	Parts  []string // in the order of the constants, each once; never empty
	Why    string   // what is known about it, for people; may be empty
}

// Error says which client differs, and in what.
func (e *ChangedError) Error() string {
	text := e.Client + " is not as it was reviewed: " + strings.Join(e.Parts, ", ")
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	return text
}

const noPath = "/nonexistent"

// upgraded explains a difference that every jig but the reviewed one makes.
const upgraded = "the adapter is jig itself, which is another version than at the review: a jig upgrade does this"

// differ names what of two providers differs. They do differ.
func differ(client string, was, is project.Provider) *ChangedError {
	e := &ChangedError{Client: client}
	var why []string
	part := func(name string, different bool, reason string) bool {
		if different {
			e.Parts = append(e.Parts, name)
			if reason != "" {
				why = append(why, reason)
			}
		}
		return different
	}
	part(PartExecutable, !sameProgram(was.Executable, is.Executable), "")
	role := otherFile(was.Files, is.Files)
	part(PartSupport, role != "", role+" is another one")
	helper := part(PartHelper, !sameProgram(was.Helper, is.Helper) || was.Env["PATH"] != is.Env["PATH"], "")
	adapter := part(PartAdapter, !same(was.Adapter, is.Adapter), upgraded)
	endpoint := part(PartEndpoint, !same(was.Endpoint, is.Endpoint), "")
	model := part(PartModel, !same(was.Model, is.Model), "")
	mode := part(PartMode, was.Mode != is.Mode, "")
	proxy := part(PartProxy, !same(was.Proxy, is.Proxy) || was.Env["NO_PROXY"] != is.Env["NO_PROXY"], "")
	part(PartCA, !same(was.CA, is.CA), "")
	// Arguments and environment follow from the others; where none of those
	// explains a difference, it is the profile that jig starts the client with.
	explained := helper || adapter || endpoint || model || mode || proxy
	rest := !slices.Equal(was.Argv, is.Argv) || !maps.Equal(was.Env, is.Env) || !bytes.Equal(was.Configuration, is.Configuration) ||
		!same(was.ModeID, is.ModeID) || was.Startup != is.Startup || was.NestedUserns != is.NestedUserns
	part(PartLaunch, rest && !explained || len(e.Parts) == 0, "")
	e.Why = strings.Join(why, "; ")
	return e
}

// otherFile names the first file that differs, by its role; empty: none.
func otherFile(was, is []project.ProviderFile) string {
	for _, pair := range [][2][]project.ProviderFile{{was, is}, {is, was}} {
		for _, f := range pair[0] {
			if !slices.Contains(pair[1], f) {
				return named(f.Role, f.Path)
			}
		}
	}
	return ""
}

func sameProgram(a, b *project.ProviderExecutable) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func same(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
