package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

const (
	maxMatchBytes = 240       // of a line that are shown
	searchWindow  = 128 << 10 // bytes of a file in memory
)

// searchLimits bound one search.
type searchLimits struct {
	folder  int   // entries read of one folder
	entries int   // files and folders looked at
	depth   int   // folders inside one another
	bytes   int64 // bytes read
}

var defaultSearch = searchLimits{folder: maxFolderEntries, entries: 50000, depth: 64, bytes: 256 << 20}

// findText returns {matches:[{path,line,text}…],files,truncated,note?}: the lines that hold the text, in the order of
// paths. A long line is shown around its first match. truncated is true where the search did not see everything, and
// note says why.
func findText(ctx context.Context, w *workspace, a arguments) (jsontext.Value, *ToolError) {
	return searchFor(ctx, w, a, defaultSearch)
}

func searchFor(ctx context.Context, w *workspace, a arguments, limits searchLimits) (jsontext.Value, *ToolError) {
	rel, toolErr := clean(a.path)
	if toolErr != nil {
		return nil, toolErr
	}
	f, info, toolErr := w.open(rel)
	if toolErr != nil {
		return nil, toolErr
	}
	s := &search{ctx: ctx, w: w, limits: limits, text: []byte(a.text), buf: make([]byte, searchWindow)}
	if info.IsDir() {
		s.folder(f, rel, 0)
	} else {
		s.file(f, rel)
	}
	if toolErr := stopped(ctx); toolErr != nil {
		return nil, toolErr
	}
	return s.result(), nil
}

type search struct {
	ctx     context.Context
	w       *workspace
	limits  searchLimits
	text    []byte
	buf     []byte
	out     []byte // the matches as encoded
	matches int
	files   int
	entries int
	bytes   int64
	full    bool   // nothing more is looked at
	note    string // why something was not looked at
}

// stop ends the search, or only marks it as incomplete.
func (s *search) stop(note string) { s.full, s.note = true, note }

func (s *search) miss(note string) {
	if s.note == "" {
		s.note = note
	}
}

func (s *search) done() bool { return s.full || s.ctx.Err() != nil }

// folder searches a folder and closes it.
func (s *search) folder(f *os.File, rel string, depth int) {
	entries, more, toolErr := readFolder(s.ctx, f, s.limits.folder)
	_ = f.Close()
	if toolErr != nil {
		s.miss("a folder could not be read")
		return
	}
	if more {
		s.miss(fmt.Sprintf("a folder has more than %d entries", s.limits.folder))
	}
	for _, e := range entries {
		if s.done() {
			return
		}
		if s.entries++; s.entries > s.limits.entries {
			s.stop(fmt.Sprintf("more than %d files and folders: search a part of the workspace", s.limits.entries))
			return
		}
		name := path.Join(rel, e.Name())
		if e.Type()&fs.ModeType&^fs.ModeDir != 0 || s.w.withheld(name) {
			continue
		}
		if e.IsDir() && depth == s.limits.depth {
			s.miss(fmt.Sprintf("folders more than %d deep were left out", s.limits.depth))
			continue
		}
		entry, info, toolErr := s.w.open(name)
		if toolErr != nil {
			s.miss("something could not be read")
			continue
		}
		if info.IsDir() {
			s.folder(entry, name, depth+1)
		} else {
			s.file(entry, name)
		}
	}
}

// file searches a file, a window of it at a time, and closes it. What the end of a window holds of a line that goes on
// is looked at with the next one; of a line longer than a window, enough stays on both sides of a match to show it.
func (s *search) file(f *os.File, rel string) {
	defer f.Close()
	s.files++
	p := place{line: 1}
	held := 0 // bytes of the window that came with the one before
	for first := true; !s.done(); first = false {
		n, err := io.ReadFull(f, s.buf[held:])
		atEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEnd {
			s.miss("something could not be read")
			return
		}
		window := s.buf[:held+n]
		if first && bytes.IndexByte(window, 0) >= 0 {
			s.files--
			return // binary
		}
		if s.bytes += int64(n); s.bytes > s.limits.bytes {
			s.stop(fmt.Sprintf("more than %d bytes were read: search a part of the workspace", s.limits.bytes))
			return
		}
		use, keep := len(window), 0
		if !atEnd {
			if i := bytes.LastIndexByte(window, '\n'); i >= p.from {
				use = i + 1
			} else {
				use -= len(s.text) + maxMatchBytes
				keep = maxMatchBytes
			}
		}
		s.window(window, use, rel, &p)
		if atEnd {
			return
		}
		held = copy(s.buf, window[use-keep:])
		p.from = keep
	}
}

// place is how far a file has been searched.
type place struct {
	from     int   // the first byte of the window that has not been searched
	line     int64 // its line
	reported int64 // the last line with a match
}

// window reports the matches of w that begin from p on, before use.
func (s *search) window(w []byte, use int, rel string, p *place) {
	from := p.from
	for from < use && !s.full {
		i := bytes.Index(w[from:], s.text)
		if i < 0 || from+i >= use {
			break
		}
		at := from + i
		p.line += int64(bytes.Count(w[from:at], []byte{'\n'}))
		end := len(w)
		if j := bytes.IndexByte(w[at:], '\n'); j >= 0 {
			end = at + j
		}
		if p.line != p.reported {
			p.reported = p.line
			s.add(rel, p.line, excerpt(w, at, end, len(s.text)))
		}
		from = min(end, use)
	}
	p.line += int64(bytes.Count(w[from:use], []byte{'\n'}))
}

// excerpt is the line around the match at at, which ends before end.
func excerpt(w []byte, at, end, length int) string {
	start := bytes.LastIndexByte(w[:at], '\n') + 1
	before, after := "", ""
	if room := max(0, maxMatchBytes-length) / 2; at-start > room {
		start, before = at-room, "…"
	}
	if end-start > maxMatchBytes {
		end, after = max(start+maxMatchBytes, at), "…"
	}
	// A cut inside a character would show as one that is not UTF-8.
	for before != "" && start < at && !utf8.RuneStart(w[start]) {
		start++
	}
	for after != "" && end > start && !utf8.RuneStart(w[end]) {
		end--
	}
	s, _ := text(w[start:end])
	return before + strings.TrimSuffix(s, "\r") + after
}

func (s *search) add(rel string, line int64, shown string) {
	n := len(s.out)
	if s.matches > 0 {
		s.out = append(s.out, ',')
	}
	name, _ := text([]byte(rel))
	s.out = append(s.out, `{"path":`...)
	s.out = wirev2.AppendString(s.out, name)
	s.out = append(s.out, `,"line":`...)
	s.out = strconv.AppendInt(s.out, line, 10)
	s.out = append(s.out, `,"text":`...)
	s.out = wirev2.AppendString(s.out, shown)
	if s.out = append(s.out, '}'); len(s.out) > MaxResultBytes-frameBytes {
		s.out = s.out[:n]
		s.stop("there are more matches than fit: search a part of the workspace or a longer text")
		return
	}
	s.matches++
}

func (s *search) result() jsontext.Value {
	b := append([]byte(`{"matches":[`), s.out...)
	b = append(b, `],"files":`...)
	b = strconv.AppendInt(b, int64(s.files), 10)
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, s.note != "")
	return appendNote(b, s.note)
}
