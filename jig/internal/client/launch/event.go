package launch

import (
	"errors"

	"github.com/go-json-experiment/json"
)

const (
	// MaxEventBytes bounds one message of the socket.
	MaxEventBytes = 4096
	// MaxCategories bounds the categories the host keeps of one conversation.
	MaxCategories = 16
)

// Exit is how a native client ended, as its parent saw it. Exactly one of Code and
// Signal is set. It is immutable.
type Exit struct {
	Code       *int    // exit code
	Signal     *string // the name of the signal it died of, such as SIGTERM
	Terminated bool    // the host had asked for the end
}

// Clean says whether the client ended by itself and well (jig.md 7).
func (e Exit) Clean() bool { return e.Code != nil && *e.Code == 0 && !e.Terminated }

// The events.
const (
	eventStarted   = "started"
	eventSessions  = "sessions"
	eventFailed    = "failed"
	eventExited    = "exited"
	eventTerminate = "terminate"
)

// event is one message. Which members it has depends on its name.
type event struct {
	name       string
	pid        int
	category   Category
	exit       Exit
	descriptor bool // a descriptor travels with it
}

type wireName struct {
	Event string `json:"event"`
}

type wireStarted struct {
	Event string `json:"event"`
	PID   *int   `json:"pid"`
}

type wireFailed struct {
	Event    string    `json:"event"`
	Category *Category `json:"category"`
}

type wireExited struct {
	Event      string  `json:"event"`
	ExitCode   *int    `json:"exitCode"`
	Signal     *string `json:"signal"`
	Terminated *bool   `json:"terminated"`
}

var errEvent = errors.New("launch: an event is malformed")

func (e event) encode() ([]byte, error) {
	switch e.name {
	case eventStarted:
		return json.Marshal(wireStarted{e.name, &e.pid})
	case eventFailed:
		return json.Marshal(wireFailed{e.name, &e.category})
	case eventExited:
		return json.Marshal(wireExited{e.name, e.exit.Code, e.exit.Signal, &e.exit.Terminated})
	}
	return json.Marshal(wireName{e.name})
}

func decodeEvent(b []byte) (event, error) {
	var n wireName
	if len(b) == 0 || len(b) > MaxEventBytes || json.Unmarshal(b, &n) != nil {
		return event{}, errEvent
	}
	strict := func(v any) bool { return json.Unmarshal(b, v, json.RejectUnknownMembers(true)) == nil }
	e := event{name: n.Event}
	ok := false
	switch n.Event {
	case eventStarted:
		var w wireStarted
		if ok = strict(&w) && w.PID != nil && *w.PID > 0; ok {
			e.pid = *w.PID
		}
	case eventFailed:
		var w wireFailed
		if ok = strict(&w) && w.Category != nil && w.Category.known(); ok {
			e.category = *w.Category
		}
	case eventExited:
		var w wireExited
		ok = strict(&w) && w.Terminated != nil && (w.ExitCode == nil) != (w.Signal == nil) &&
			(w.ExitCode == nil || *w.ExitCode >= 0 && *w.ExitCode <= 255) && (w.Signal == nil || signalName(*w.Signal))
		if ok {
			e.exit = Exit{w.ExitCode, w.Signal, *w.Terminated}
		}
	case eventSessions, eventTerminate:
		ok = strict(&n)
		e.descriptor = n.Event == eventSessions
	}
	if !ok {
		return event{}, errEvent
	}
	return e, nil
}

// signalName says whether s looks as the kernel's names do: it reaches a result.
func signalName(s string) bool {
	if len(s) < 4 || len(s) > 16 || s[:3] != "SIG" {
		return false
	}
	for _, c := range s[3:] {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '+' {
			return false
		}
	}
	return true
}
