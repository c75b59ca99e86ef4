package acpframing

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// The bounds of a ready record.
const (
	MaxReadyBytes      = 65_536 // encoded
	MaxConfiguration   = 16     // settings
	MaxIdentifierBytes = 1024   // of identifiers and of string values
	MaxTurns           = 8
)

// The constants of a ready record.
const (
	ReadyProtocolVersion = 1
	ReadyCWD             = "/work"
)

// Ready is the record that a host sends before every fragment: what it has
// reviewed and will enforce, whatever the adapter does with the record
// (seed: One invocation, two direct channels).
type Ready struct {
	MaxTurns         int       // prompts the grant allows; 1 to 8
	Configuration    []Setting // at most 16, with different IDs, in the order of their confirmation
	ModeID           string    // optional
	RestoreSessionID string    // optional; the native session to be resumed
}

// Setting is one entry of a ready record's configuration.
type Setting struct {
	ConfigID string
	Value    string // unless Boolean
	Boolean  bool   // the setting is a Boolean one
	On       bool   // its value, if Boolean
}

// wireReady is a ready record as it is written. Members that must be there are
// pointers, so that null and absence can be told from a zero.
type wireReady struct {
	Configuration    *[]wireSetting `json:"configuration"`
	CWD              *string        `json:"cwd"`
	Kind             *string        `json:"kind"`
	MaxTurns         *int           `json:"maxTurns"`
	ModeID           jsontext.Value `json:"modeId,omitzero"`
	ProtocolVersion  *int           `json:"protocolVersion"`
	RestoreSessionID jsontext.Value `json:"restoreSessionId,omitzero"`
}

type wireSetting struct {
	ConfigID *string        `json:"configId"`
	Type     jsontext.Value `json:"type,omitzero"`
	Value    jsontext.Value `json:"value"`
}

// ParseReady reads a ready record. The error is [ErrReady].
func ParseReady(item []byte) (Ready, error) {
	if len(item) > MaxReadyBytes {
		return Ready{}, notReady("it is longer than 65,536 bytes")
	}
	var w wireReady
	if err := json0.Decode(item, &w); err != nil {
		var e *json0.Error
		if errors.As(err, &e) {
			return Ready{}, notReady(e.Error())
		}
		return Ready{}, notReady("it is not JSON/0")
	}
	switch {
	case w.Kind == nil || *w.Kind != "ready":
		return Ready{}, notReady(`kind is not "ready"`)
	case w.ProtocolVersion == nil || *w.ProtocolVersion != ReadyProtocolVersion:
		return Ready{}, notReady("protocolVersion is not 1")
	case w.CWD == nil || *w.CWD != ReadyCWD:
		return Ready{}, notReady("cwd is not /work")
	case w.MaxTurns == nil:
		return Ready{}, notReady("maxTurns is missing")
	case w.Configuration == nil:
		return Ready{}, notReady("configuration is missing")
	}
	r := Ready{MaxTurns: *w.MaxTurns}
	for _, s := range *w.Configuration {
		setting, err := s.setting()
		if err != nil {
			return Ready{}, err
		}
		r.Configuration = append(r.Configuration, setting)
	}
	var err error
	if r.ModeID, err = optional(w.ModeID, "modeId"); err != nil {
		return Ready{}, err
	}
	if r.RestoreSessionID, err = optional(w.RestoreSessionID, "restoreSessionId"); err != nil {
		return Ready{}, err
	}
	return r, r.check()
}

func (w wireSetting) setting() (Setting, error) {
	if w.ConfigID == nil {
		return Setting{}, notReady("a configId is missing")
	}
	s := Setting{ConfigID: *w.ConfigID, Boolean: w.Type != nil}
	switch kind := w.Value.Kind(); {
	case s.Boolean && (kind == 't' || kind == 'f'):
		var t string
		if json0.Decode(w.Type, &t) != nil || t != "boolean" {
			return Setting{}, notReady(`a setting's type is not "boolean"`)
		}
		s.On = kind == 't'
	case !s.Boolean && kind == '"':
		if err := json0.Decode(w.Value, &s.Value); err != nil {
			return Setting{}, notReady("a setting's value is not JSON/0")
		}
	default:
		return Setting{}, notReady("a setting has neither a string nor, with its type, a Boolean value")
	}
	return s, nil
}

// optional reads a string that may be absent, but not null or empty.
func optional(v jsontext.Value, name string) (string, error) {
	if v == nil {
		return "", nil
	}
	var s *string
	if err := json0.Decode(v, &s); err != nil || s == nil || *s == "" {
		return "", notReady(name + " is not an identifier")
	}
	return *s, nil
}

// Append appends the record to dst, as one canonical JSON item. The error is
// [ErrReady].
func (r Ready) Append(dst []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return dst, err
	}
	kind, cwd, version := "ready", ReadyCWD, ReadyProtocolVersion
	settings := make([]wireSetting, len(r.Configuration))
	for i, s := range r.Configuration {
		settings[i].ConfigID = &s.ConfigID
		if s.Boolean {
			settings[i].Type = jsontext.Value(`"boolean"`)
			settings[i].Value = jsontext.Value(fmt.Sprint(s.On))
		} else {
			settings[i].Value = quoted(s.Value)
		}
	}
	w := wireReady{
		Configuration: &settings, CWD: &cwd, Kind: &kind, MaxTurns: &r.MaxTurns, ProtocolVersion: &version,
	}
	if r.ModeID != "" {
		w.ModeID = quoted(r.ModeID)
	}
	if r.RestoreSessionID != "" {
		w.RestoreSessionID = quoted(r.RestoreSessionID)
	}
	item, err := json0.Marshal(w)
	switch {
	case err != nil:
		return dst, notReady("it has no JSON form")
	case len(item) > MaxReadyBytes:
		return dst, notReady("it is longer than 65,536 bytes")
	}
	return append(dst, item...), nil
}

// quoted encodes a text that was checked before.
func quoted(s string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, s)
	return v
}

// check looks at what the shape does not say.
func (r Ready) check() error {
	if r.MaxTurns < 1 || r.MaxTurns > MaxTurns {
		return notReady("maxTurns is not 1 to 8")
	}
	if len(r.Configuration) > MaxConfiguration {
		return notReady("there are more than 16 settings")
	}
	for i, s := range r.Configuration {
		if !identifier(s.ConfigID) {
			return notReady("a configId is not an identifier")
		}
		if s.Boolean && s.Value != "" || !s.Boolean && (s.On || !identifier(s.Value)) {
			return notReady("a setting's value is not 1 to 1,024 bytes of text without NUL")
		}
		for _, other := range r.Configuration[:i] {
			if other.ConfigID == s.ConfigID {
				return notReady("a configId comes twice")
			}
		}
	}
	if r.ModeID != "" && !identifier(r.ModeID) {
		return notReady("modeId is not an identifier")
	}
	if r.RestoreSessionID != "" && !identifier(r.RestoreSessionID) {
		return notReady("restoreSessionId is not an identifier")
	}
	return nil
}

// identifier says whether s is 1 to 1,024 bytes of scalar text without NUL.
func identifier(s string) bool {
	return s != "" && len(s) <= MaxIdentifierBytes && utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

func notReady(why string) error { return fmt.Errorf("%w: %s", ErrReady, why) }
