package run0

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/channel"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Run is the one request of a session.
type Run struct {
	Input          jsontext.Value           // required, null included
	Settings       jsontext.Value           // an object; nil means {}
	Scratch        string                   // required
	DeadlineUnixMS int64                    // absolute, UTC
	Channels       map[string]channel.Grant // nil: absent
}

// params is the wire form: attachments are always there and always empty.
func (r *Run) params() ([]byte, error) {
	settings := r.Settings
	if settings == nil {
		settings = jsontext.Value("{}")
	}
	return json0.Marshal(struct {
		Protocol       string                   `json:"protocol"`
		Input          jsontext.Value           `json:"input"`
		Settings       jsontext.Value           `json:"settings"`
		Attachments    map[string]string        `json:"attachments"`
		Scratch        string                   `json:"scratch"`
		DeadlineUnixMS int64                    `json:"deadlineUnixMs"`
		Channels       map[string]channel.Grant `json:"channels,omitzero"`
	}{"run/0", r.Input, settings, map[string]string{}, r.Scratch, r.DeadlineUnixMS, r.Channels})
}

// frame is flow/run as it goes out. The limits bind the whole of it, so that what
// is JSON/0 by itself may not fit (run-0 2); that is RESOURCE_EXHAUSTED.
func (r *Run) frame(most int) ([]byte, error) {
	params, err := r.params()
	if err == nil {
		frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":"flow/run","params":%s}`, rootID, params)
		if err = (json0.Limits{Bytes: min(most, json0.MaxBytes)}).Check(frame); err == nil {
			return frame, nil
		}
	}
	var limit *json0.Error
	if errors.Is(err, json0.ErrLimit) && errors.As(err, &limit) {
		return nil, fault.New(fault.ResourceExhausted, "the input and the settings do not fit one frame: "+limit.Detail)
	}
	return nil, fmt.Errorf("run0: the run cannot be written: %w", err)
}

// Check says whether the run fits one frame, for who wants to know before there
// is a process. The error is that of [New].
func (r *Run) Check() error {
	_, err := r.frame(json0.MaxBytes)
	return err
}

// Call is what flow/call asks for.
type Call struct {
	OperationID string
	Slot        string
	Input       jsontext.Value
	Channels    map[string]string // nil: absent, which is not the same as empty
	// Preimage is what says whether two calls are the same: FLOW-Call/0, NUL and
	// the canonical params without the operation id.
	Preimage []byte
}

// Create is what channel/create asks for.
type Create struct {
	Delivery string         // direct or broadcast
	Schema   jsontext.Value // nil: none
	Path     string         // contract "./…"; empty: none
	Slot     string         // contract {slot,channel}; empty: none
	Channel  string
}

func readCall(raw jsontext.Value) (Call, bool) {
	var f struct {
		OperationID *string        `json:"operationId"`
		Slot        *string        `json:"slot"`
		Input       jsontext.Value `json:"input"`
		Intent      jsontext.Value `json:"intent"`
		Channels    jsontext.Value `json:"channels"`
	}
	if json0.Decode(raw, &f) != nil || f.OperationID == nil || f.Slot == nil || f.Input == nil ||
		!WireID(*f.OperationID) || !contract.LocalName(*f.Slot) {
		return Call{}, false
	}
	if f.Intent != nil {
		intent, isText := stringOf(f.Intent)
		if !isText || intent == "" || utf8.RuneCountInString(intent) > 16_384 {
			return Call{}, false
		}
	}
	c := Call{OperationID: *f.OperationID, Slot: *f.Slot, Input: f.Input}
	if f.Channels != nil {
		if f.Channels.Kind() != '{' || json0.Decode(f.Channels, &c.Channels) != nil || len(c.Channels) > 256 {
			return Call{}, false
		}
		for name, endpoint := range c.Channels {
			if !contract.LocalName(name) || !WireID(endpoint) {
				return Call{}, false
			}
		}
	}
	members := map[string]jsontext.Value{}
	if json0.Decode(raw, &members) != nil {
		return Call{}, false
	}
	delete(members, "operationId")
	canonical, err := json0.Marshal(members)
	if err != nil {
		return Call{}, false
	}
	c.Preimage = append([]byte("FLOW-Call/0\x00"), canonical...)
	return c, true
}

func readCreate(raw jsontext.Value) (Create, bool) {
	var f struct {
		Delivery jsontext.Value `json:"delivery"`
		Schema   jsontext.Value `json:"schema"`
		Contract jsontext.Value `json:"contract"`
	}
	if json0.Decode(raw, &f) != nil {
		return Create{}, false
	}
	c := Create{Delivery: contract.Direct, Schema: f.Schema}
	if f.Delivery != nil {
		var isText bool
		if c.Delivery, isText = stringOf(f.Delivery); !isText || c.Delivery != contract.Direct && c.Delivery != contract.Broadcast {
			return Create{}, false
		}
	}
	if f.Schema != nil {
		if k := f.Schema.Kind(); f.Contract != nil || k != '{' && k != 't' && k != 'f' {
			return Create{}, false
		}
	}
	switch f.Contract.Kind() {
	case '"':
		// What stands behind "./" is judged by the contract's own grammar.
		path, _ := stringOf(f.Contract)
		if !strings.HasPrefix(path, "./") || utf8.RuneCountInString(path) > 4096 {
			return Create{}, false
		}
		c.Path = path
	case '{':
		var at struct {
			Slot    *string `json:"slot"`
			Channel *string `json:"channel"`
		}
		if json0.Decode(f.Contract, &at) != nil || at.Slot == nil || at.Channel == nil || !contract.LocalName(*at.Slot) || !contract.LocalName(*at.Channel) {
			return Create{}, false
		}
		c.Slot, c.Channel = *at.Slot, *at.Channel
	default:
		if f.Contract != nil {
			return Create{}, false
		}
	}
	return c, true
}

// readOne reads params that hold exactly one wire id.
func readOne(raw jsontext.Value, name string) (string, bool) {
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil || len(members) != 1 {
		return "", false
	}
	id, isText := stringOf(members[name])
	return id, isText && WireID(id)
}

func readSend(raw jsontext.Value) (endpoint string, value jsontext.Value, ok bool) {
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil || len(members) != 2 || members["value"] == nil {
		return "", nil, false
	}
	endpoint, isText := stringOf(members["endpoint"])
	return endpoint, members["value"], isText && WireID(endpoint)
}

func readClose(raw jsontext.Value) (endpoint string, lagged, ok bool) {
	members := map[string]jsontext.Value{}
	if raw.Kind() != '{' || json0.Decode(raw, &members) != nil {
		return "", false, false
	}
	endpoint, isText := stringOf(members["endpoint"])
	if !isText || !WireID(endpoint) {
		return "", false, false
	}
	if cause, there := members["error"]; there {
		text, isText := stringOf(cause)
		return endpoint, true, len(members) == 2 && isText && text == "LAGGED"
	}
	return endpoint, false, len(members) == 1
}
