package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
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
	version       = 1
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
	Path    *string `json:"path"`
	Content *string `json:"content"`
}

// Encode is the frame's length and JSON. The caller zeroes the bytes after use.
func (f *Frame) Encode() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	v := version
	w := wire{&v, &f.Client, &f.Native, &f.Argv, &f.Env, f.Credential, jsontext.Value("null"), &f.Retain}
	if f.Credential == nil {
		w.Credential = jsontext.Value("null")
	}
	if f.Session != nil {
		content := string(f.Session.Content)
		s, err := json.Marshal(wireSession{&f.Session.Path, &content})
		if err != nil {
			return nil, refuse("its session cannot be written")
		}
		w.Session = s
		defer clear(s)
	}
	b, err := json.Marshal(w)
	defer clear(b)
	if err != nil {
		return nil, refuse("it cannot be written")
	}
	if len(b) > MaxFrameBytes {
		return nil, refuse("it is larger than 12 MiB")
	}
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(b)), uint32(len(b))), b...), nil
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
	defer func() { clear(w.Credential); clear(w.Session) }()
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
		var s wireSession
		if err := json.Unmarshal(w.Session, &s, json.RejectUnknownMembers(true)); err != nil || s.Path == nil || s.Content == nil {
			return nil, refuse("its session is malformed")
		}
		f.Session = &Session{*s.Path, []byte(*s.Content)}
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
	case f.Session != nil && (f.Client != "codex" || !local(f.Session.Path) || len(f.Session.Content) == 0 || !utf8.Valid(f.Session.Content)):
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
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
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
