package cli

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// output owns standard output: whole lines, in order, and nothing after the last.
// It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	w    io.Writer
	seen bool  // w is a terminal
	done bool  // guarded by mu
	err  error // guarded by mu; the first failure
}

// line writes one line of JSON at once.
func (o *output) line(b []byte) { o.json(b, false) }

// last writes the last line, which is JSON.
func (o *output) last(b []byte) { o.json(b, true) }

// json writes canonical JSON, and on a terminal the same value without what a
// terminal would act on.
func (o *output) json(b []byte, last bool) {
	if o.seen {
		b = escapeJSON(b)
	}
	o.write(append(slices.Clip(b), '\n'), last)
}

// text writes text for a person.
func (o *output) text(s string) { o.write([]byte(s), false) }

func (o *output) write(b []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done || o.err != nil {
		return
	}
	o.done = last
	_, o.err = o.w.Write(b)
}

// failed says that not everything was delivered.
func (o *output) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// encoded is an encoded record inside another one.
type encoded []byte

// record is a command's record: member to value, as JSON or as a Go value.
type record map[string]any

// encode writes r canonically. Values are encoded one by one, because a value may
// be as large as JSON/0 allows and the record around it larger.
func (r record) encode() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(r)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(append(b, name...), '"', ':')
		if whole, ok := r[name].(encoded); ok {
			b = append(b, whole...)
			continue
		}
		if raw, ok := r[name].(jsontext.Value); ok {
			canonical, err := json0.Canonical(raw)
			if err != nil {
				return nil, err
			}
			b = append(b, canonical...)
			continue
		}
		v, err := json0.Marshal(r[name])
		if err != nil {
			return nil, err
		}
		b = append(b, v...)
	}
	return append(b, '}'), nil
}

// lockedWriter lets several goroutines write whole pieces.
type lockedWriter struct {
	mu sync.Mutex
	f  *os.File
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.f.Write(b)
}

// isTerminal says whether f is a terminal.
func isTerminal(f any) bool {
	if w, ok := f.(*lockedWriter); ok {
		f = w.f
	}
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && terminalWidth(file) >= 0
}

var errNoTerminal = errors.New("no terminal")
