package catalog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// maxSkipBytes bounds what is read before the first line that is asked for.
const maxSkipBytes = 256 << 20

// readFile returns {text,lines,truncated,next_offset?,note?}: the lines from offset on, as many as limit allows and as
// fit. truncated is true where anything of the file follows; next_offset is the line to go on with.
func readFile(ctx context.Context, w *workspace, a arguments) (jsontext.Value, *ToolError) {
	rel, toolErr := clean(a.path)
	if toolErr != nil {
		return nil, toolErr
	}
	f, info, toolErr := w.open(rel)
	if toolErr != nil {
		return nil, toolErr
	}
	defer f.Close()
	if info.IsDir() {
		return nil, failed("it is a folder: use " + ToolListFiles)
	}
	r := &lineReader{ctx: ctx, r: bufio.NewReaderSize(f, 64<<10), skip: maxSkipBytes}
	offset := max(a.offset, 1)
	for n := int64(1); n < offset; n++ {
		if more, toolErr := r.skipLine(); toolErr != nil {
			return nil, toolErr
		} else if !more {
			return nil, failed("the file has only " + strconv.FormatInt(n-1, 10) + " lines")
		}
	}
	return r.take(offset, a.limit)
}

type lineReader struct {
	ctx  context.Context
	r    *bufio.Reader
	skip int64 // bytes that may still be passed over
}

// skipLine passes over one line; more is false where there is none.
func (r *lineReader) skipLine() (more bool, toolErr *ToolError) {
	for {
		if toolErr := stopped(r.ctx); toolErr != nil {
			return false, toolErr
		}
		b, err := r.r.ReadSlice('\n')
		r.skip -= int64(len(b))
		more = more || len(b) > 0
		switch {
		case r.skip < 0:
			return false, failed("the line lies more than 256 MiB into the file")
		case err == nil, errors.Is(err, io.EOF):
			return more, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, failed("the file cannot be read")
		}
	}
}

// take collects lines from the present one on, which is line number offset.
func (r *lineReader) take(offset, limit int64) (jsontext.Value, *ToolError) {
	const budget = MaxResultBytes - frameBytes
	var out []byte // the text as encoded
	var lines int64
	note, replaced := "", false
	for limit == 0 || lines < limit {
		if toolErr := stopped(r.ctx); toolErr != nil {
			return nil, toolErr
		}
		// Of a line longer than the budget no more is needed than that.
		raw, whole, err := r.line(budget + 1)
		if err != nil {
			return nil, failed("the file cannot be read")
		}
		if len(raw) == 0 {
			return readResult(out, lines, false, 0, withReplaced(note, replaced)), nil
		}
		if bytes.IndexByte(raw, 0) >= 0 {
			return nil, failed("it is a binary file")
		}
		s, bad := text(raw)
		part := fit(s, budget-len(out))
		if cut := len(part) < len(s) || !whole; cut && lines > 0 {
			// The whole line comes with the next call.
			return readResult(out, lines, true, offset+lines, withReplaced(note, replaced)), nil
		} else if cut {
			note = "the line is longer than fits and was cut"
			if !whole {
				if _, toolErr := r.skipLine(); toolErr != nil && toolErr.Code == CodeCancelled {
					return nil, toolErr
				}
			}
			limit = 1
		}
		replaced = replaced || bad
		out = appendEscaped(out, part)
		lines++
	}
	next := int64(0)
	if _, err := r.r.Peek(1); err == nil {
		next = offset + lines
	}
	return readResult(out, lines, next > 0 || note != "", next, withReplaced(note, replaced)), nil
}

// line reads a line with its end, at most limit bytes of it; whole says that nothing of it is left.
func (r *lineReader) line(limit int) (raw []byte, whole bool, err error) {
	for {
		b, err := r.r.ReadSlice('\n')
		raw = append(raw, b...)
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return raw, true, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		case len(raw) >= limit:
			return raw, false, nil
		}
	}
}

func withReplaced(note string, replaced bool) string {
	const text = "bytes that are not UTF-8 were replaced"
	switch {
	case !replaced:
		return note
	case note == "":
		return text
	}
	return note + "; " + text
}

// appendEscaped appends s as encoded, without quotes.
func appendEscaped(dst []byte, s string) []byte {
	n := len(dst)
	dst = wirev2.AppendString(dst, s)
	copy(dst[n:], dst[n+1:len(dst)-1])
	return dst[:len(dst)-2]
}

func readResult(escaped []byte, lines int64, truncated bool, next int64, note string) jsontext.Value {
	b := append([]byte(`{"text":"`), escaped...)
	b = append(b, `","lines":`...)
	b = strconv.AppendInt(b, lines, 10)
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, truncated)
	if next > 0 {
		b = append(b, `,"next_offset":`...)
		b = strconv.AppendInt(b, next, 10)
	}
	return appendNote(b, note)
}

// appendNote ends a result.
func appendNote(b []byte, note string) jsontext.Value {
	if note != "" {
		b = append(b, `,"note":`...)
		b = wirev2.AppendString(b, note)
	}
	return append(b, '}')
}
