package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxFrameBytes is the most bytes of a frame's JSON. A restored session of
	// 8 MiB fits whatever its text needs as escapes, as long as that is half of it.
	MaxFrameBytes = 12 << 20
	maxArguments  = 256
	maxVariables  = 64

	version = 1
)

// ErrFrame is under every refusal of a frame.
var ErrFrame = errors.New("launch: not a launch frame")

// Frame says what the adapter starts, and with what. It is for one goroutine.
type Frame struct {
	Client     string            // required; codex, claude or pi
	Native     string            // required; absolute path of the native program inside the scope
	Argv       []string          // the arguments after the program, as reviewed
	Env        map[string]string // the whole environment, as reviewed
	Credential jsontext.Value    // an object, or nil
	Session    *Session          // a session to restore, or nil
	Retain     bool              // hand over the folder of sessions
}

// Session is a restored session: a file below the client's own folder of sessions.
type Session struct {
	Path    string // relative, clean, below the client's folder
	Content []byte // UTF-8
}

// wire is the frame as it travels. Every member is required.
type wire struct {
	Version    *int               `json:"v"`
	Client     *string            `json:"client"`
	Native     *string            `json:"native"`
	Argv       *[]string          `json:"argv"`
	Env        *map[string]string `json:"env"`
	Credential jsontext.Value     `json:"credential"`
	Session    jsontext.Value     `json:"session"`
	Retain     *bool              `json:"retain"`
}

type wireSession struct {
	Path    *string        `json:"path"`
	Content jsontext.Value `json:"content"` // a string; kept as bytes, which can be zeroed
}

// Encode is the frame's length and JSON. The caller zeroes the bytes after use.
func (f *Frame) Encode() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	// Written by hand into one buffer: an encoder would keep copies of the secret
	// in buffers of its own. The buffer has room for all but a session with many
	// escapes, and what it outgrows is zeroed. The texts were checked, so quoting
	// cannot fail.
	size := 512 + 6*(len(f.Client)+len(f.Native)) + len(f.Credential)
	for _, a := range f.Argv {
		size += 6*len(a) + 3
	}
	for name, value := range f.Env {
		size += 6*(len(name)+len(value)) + 6
	}
	if f.Session != nil {
		size += 2*len(f.Session.Content) + 6*len(f.Session.Path)
	}
	b := make([]byte, 4, size)
	b = append(b, `{"v":1,"client":`...)
	b = quote(b, f.Client)
	b = quote(append(b, `,"native":`...), f.Native)
	b = append(b, `,"argv":[`...)
	for i, a := range f.Argv {
		b = quote(comma(b, i), a)
	}
	b = append(b, `],"env":{`...)
	for i, name := range slices.Sorted(maps.Keys(f.Env)) {
		b = quote(comma(b, i), name)
		b = quote(append(b, ':'), f.Env[name])
	}
	b = append(b, `},"credential":`...)
	if f.Credential == nil {
		b = append(b, "null"...)
	}
	b = append(b, f.Credential...)
	b = append(b, `,"session":`...)
	if f.Session == nil {
		b = append(b, "null"...)
	} else {
		b = quote(append(b, `{"path":`...), f.Session.Path)
		old := b
		b, _ = jsontext.AppendQuote(append(b, `,"content":`...), f.Session.Content)
		if cap(old) != cap(b) {
			clear(old)
		}
		b = append(b, '}')
	}
	b = strconv.AppendBool(append(b, `,"retain":`...), f.Retain)
	b = append(b, '}')
	if len(b)-4 > MaxFrameBytes {
		clear(b)
		return nil, refuse("it is larger than 12 MiB")
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

// Read reads one frame and nothing behind it. The bytes it read are zeroed; the
// frame keeps copies, which [Frame.Zero] zeroes.
func Read(r io.Reader) (*Frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, refuse("its length is missing")
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > MaxFrameBytes {
		return nil, refuse("its length is not 1 byte to 12 MiB")
	}
	b := make([]byte, n)
	defer clear(b)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, refuse("it ends early")
	}
	return decode(b)
}

func decode(b []byte) (*Frame, error) {
	var w wire
	var s wireSession
	defer func() { clear(w.Credential); clear(w.Session); clear(s.Content) }()
	if err := json.Unmarshal(b, &w, json.RejectUnknownMembers(true)); err != nil {
		return nil, refuse("it is not the closed JSON of a frame")
	}
	if w.Version == nil || *w.Version != version || w.Client == nil || w.Native == nil || w.Argv == nil || w.Env == nil ||
		w.Retain == nil || len(w.Credential) == 0 || len(w.Session) == 0 {
		return nil, refuse("a member is missing or of another version")
	}
	f := &Frame{Client: *w.Client, Native: *w.Native, Argv: *w.Argv, Env: *w.Env, Retain: *w.Retain}
	if w.Credential.Kind() != 'n' {
		f.Credential = slices.Clone(w.Credential)
	}
	if w.Session.Kind() != 'n' {
		if err := json.Unmarshal(w.Session, &s, json.RejectUnknownMembers(true)); err != nil || s.Path == nil || s.Content.Kind() != '"' {
			return nil, refuse("its session is malformed")
		}
		content, err := jsontext.AppendUnquote(make([]byte, 0, len(s.Content)), s.Content)
		if err != nil {
			return nil, refuse("its session is malformed")
		}
		f.Session = &Session{*s.Path, content}
	}
	if err := f.check(); err != nil {
		f.Zero()
		return nil, err
	}
	return f, nil
}

func (f *Frame) check() error {
	switch {
	case f.Client != "codex" && f.Client != "claude" && f.Client != "pi":
		return refuse("its client is unknown")
	case !path.IsAbs(f.Native) || path.Clean(f.Native) != f.Native || f.Native == "/":
		return refuse("its program has no clean absolute path")
	case len(f.Argv) > maxArguments || len(f.Env) > maxVariables:
		return refuse("it has more than 256 arguments or 64 variables")
	case f.Credential != nil && (f.Credential.Kind() != '{' || !f.Credential.IsValid()):
		return refuse("its credential is no object")
	case f.Session != nil && (f.Client != "codex" || !local(f.Session.Path) || !utf8.ValidString(f.Session.Path) || len(f.Session.Content) == 0 || !utf8.Valid(f.Session.Content)):
		return refuse("its session is malformed")
	case f.Retain && f.Client != "codex":
		return refuse("only codex retains sessions")
	}
	for _, a := range append([]string{f.Native}, f.Argv...) {
		if strings.ContainsRune(a, 0) || !utf8.ValidString(a) {
			return refuse("an argument is no text")
		}
	}
	for name, value := range f.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return refuse("a variable is malformed")
		}
	}
	return nil
}

// local says whether p stays below the folder it is joined to.
func local(p string) bool {
	return p != "" && path.Clean(p) == p && !path.IsAbs(p) && p != "." && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsRune(p, 0)
}

// Zero overwrites the credential and the session.
func (f *Frame) Zero() {
	clear(f.Credential)
	f.Credential = nil
	if f.Session != nil {
		clear(f.Session.Content)
		f.Session = nil
	}
}

func refuse(what string) error { return fmt.Errorf("%w: %s", ErrFrame, what) }

const redacted = "[redacted]"

// String, GoString, Format, MarshalJSON and LogValue keep a frame out of every text.
func (Frame) String() string               { return redacted }
func (Frame) GoString() string             { return redacted }
func (Frame) Format(s fmt.State, _ rune)   { io.WriteString(s, redacted) }
func (Frame) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (Frame) LogValue() slog.Value         { return slog.StringValue(redacted) }
