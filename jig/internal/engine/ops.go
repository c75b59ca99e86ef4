package engine

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"modernc.org/quickjs"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// args are what a script gave. Our own scripts are the only ones that can, so a
// wrong type is our own mistake and comes out as a zero.
type args []any

func (a args) text(i int) string {
	if i < len(a) {
		if s, ok := a[i].(string); ok {
			return s
		}
	}
	return ""
}

func (a args) number(i int) float64 {
	if i < len(a) {
		switch n := a[i].(type) {
		case int:
			return float64(n)
		case float64:
			return n
		}
	}
	return 0
}

func (a args) int(i int) int { return int(a.number(i)) }

func (a args) bool(i int) bool {
	if i < len(a) {
		b, ok := a[i].(bool)
		return ok && b
	}
	return false
}

func (a args) json(i int) jsontext.Value {
	if s := a.text(i); s != "" {
		return jsontext.Value(s)
	}
	return nil
}

// Call implements realm.Host.
func (r *runner) Call(op string, given []any) (any, error) {
	f, ok := ops[op]
	if !ok {
		return nil, fmt.Errorf("no operation %q", op)
	}
	v := f(r, given)
	if v == nil {
		v = quickjs.Undefined{}
	}
	return v, nil
}

// ops are what the scripts may ask.
var ops = map[string]func(r *runner, a args) any{}

func init() {
	// Run/0
	// the loop
	// standard error
	// modules
	// what there is to know
	maps.Copy(ops, map[string]func(r *runner, a args) any{

		"handle": func(r *runner, _ args) any {
			if r.stdin != nil {
				return "standard input was read before handle was called"
			}
			r.handling = true
			r.frames = readFrames(r.In, r.stop)
			return nil
		},
		"call":      func(r *runner, a args) any { return r.comp.Call(a.json(0), a.bool(1)) },
		"create":    func(r *runner, a args) any { return r.comp.Create(a.json(0), a.bool(1)) },
		"subscribe": func(r *runner, a args) any { return r.comp.Subscribe(a.int(0), a.bool(1)) },
		"send":      func(r *runner, a args) any { return r.comp.Send(a.int(0), a.json(1), a.bool(2)) },
		"closed":    func(r *runner, a args) any { return r.comp.Closed(a.int(0)) },
		"close":     func(r *runner, a args) any { return r.comp.CloseSender(a.int(0), a.bool(1), a.bool(2)) },
		"next":      func(r *runner, a args) any { return r.comp.Next(a.int(0), a.bool(1)) },
		"release":   func(r *runner, a args) any { return r.comp.CloseReceiver(a.int(0), a.bool(1)) },
		"use":       func(r *runner, a args) any { r.comp.Use(a.int(0)); return nil },
		"giveUp":    func(r *runner, a args) any { r.comp.GiveUp(a.int(0)); return nil },
		"succeed": func(r *runner, a args) any {
			raw := a.json(0)
			if why := r.comp.Succeed(raw); why != "" && raw != nil { // of one that is no JSON it has been said
				r.say(why)
			}
			return nil
		},
		"fail": func(r *runner, a args) any {
			return !r.comp.Fail(&fault.Error{Code: fault.Code(a.text(0)), Message: a.text(1), Details: a.json(2)})
		},

		"loaded": func(r *runner, _ args) any { r.loaded = true; return nil },
		"timer": func(r *runner, a args) any {
			r.timers.start(a.int(0), milliseconds(a.number(1)), a.bool(2))
			return nil
		},
		"clear":   func(r *runner, a args) any { r.timers.stop(a.int(0)); return nil },
		"refresh": func(r *runner, a args) any { r.timers.refresh(a.int(0)); return nil },
		"ref":     func(r *runner, a args) any { r.timers.ref(a.int(0), a.bool(1)); return nil },
		"hasRef":  func(r *runner, a args) any { return r.timers.hasRef(a.int(0)) },
		"now":     func(r *runner, _ args) any { return float64(time.Since(r.started).Nanoseconds()) / 1e6 },
		"exit":    func(r *runner, a args) any { r.exit(a.int(0)); return nil },
		"status":  func(r *runner, a args) any { r.status = a.int(0); return nil },

		"print":  func(r *runner, a args) any { r.say(a.text(0)); return nil },
		"error":  func(r *runner, a args) any { r.thrown(a.text(0), a.text(1), a.text(2), a.text(3)); return nil },
		"frames": func(r *runner, a args) any { return r.trace(a.text(0), a.int(1)) },

		"common":  func(r *runner, a args) any { return r.modules.common(a.text(0)) },
		"require": func(r *runner, a args) any { return r.modules.require(a.text(0), a.text(1), a.bool(2)) },

		"fs": func(r *runner, a args) any { return r.files.ask(a) },
		"about": func(r *runner, _ args) any {
			b, err := json0.Marshal(struct {
				Version  string `json:"version"`
				Platform string `json:"platform"`
				Arch     string `json:"arch"`
				Entry    string `json:"entry"`
				Dir      string `json:"dir"`
				Scratch  string `json:"scratch"`
				Memory   int    `json:"memory"`
			}{"0", runtime.GOOS, nodeArch(runtime.GOARCH), PackageDir + "/" + r.modules.entry, PackageDir, ScratchDir, HeapBytes})
			if err != nil {
				return nil
			}
			return string(b)
		},
	})
}

func nodeArch(goarch string) string {
	if goarch == "amd64" {
		return "x64"
	}
	return goarch
}

func milliseconds(n float64) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(math.Min(n, math.MaxInt32) * float64(time.Millisecond))
}
