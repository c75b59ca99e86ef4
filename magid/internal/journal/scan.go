package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/magi-jig/magi-jig/wirev2"
)

// MaxRecordBytes is the longest line without its LF: with the frame of a session.history reply (at most 64 bytes) every
// record fits that reply's 49,152 bytes alone.
const MaxRecordBytes = 49152 - 64

var errTooLong = errors.New("longer than " + strconv.Itoa(MaxRecordBytes) + " bytes")

// lines reads whole lines, one in memory at a time.
type lines struct {
	r    *bufio.Reader
	next int64 // offset of the line that comes next
}

// readLines reads r from one offset to another.
func readLines(r io.ReaderAt, from, to int64) *lines {
	return &lines{bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), MaxRecordBytes+2), from}
}

// line returns the next line without its LF, valid until the next call, and its offset. io.EOF means that no whole line
// follows; what then lies between l.next and the end is a torn line.
func (l *lines) line() (line []byte, offset int64, err error) {
	b, err := l.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, l.next, errTooLong
	case err != nil:
		return nil, l.next, err
	case len(b)-1 > MaxRecordBytes:
		return nil, l.next, errTooLong
	}
	offset = l.next
	l.next += int64(len(b))
	return b[:len(b)-1], offset, nil
}

// encode writes one line without its LF, and makes sure that decode reads it: what is only refused there, like a value
// that is nested too deep for a history reply, would be damage as soon as it was written.
func encode(rec wirev2.Record) ([]byte, error) {
	line, err := wirev2.EncodeRecord(rec)
	if err != nil {
		return nil, err
	}
	if len(line) > MaxRecordBytes {
		return nil, errTooLong
	}
	if _, err := decode(line); err != nil {
		return nil, err
	}
	return line, nil
}

// decode reads one line strictly. Its errors hold no content of the line.
func decode(line []byte) (wirev2.Record, error) {
	rec, err := wirev2.DecodeRecord(line)
	if err == nil {
		return rec, nil
	}
	// Say more closely what is wrong, in words that cannot carry what stands there.
	var h struct {
		Type string `json:"type"`
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, errors.New("an empty line")
	}
	if json.Unmarshal(line, &h) != nil {
		return nil, errors.New("no JSON object in strict form")
	}
	switch t := wirev2.RecordType(h.Type); t {
	case wirev2.RecordSession, wirev2.RecordUser, wirev2.RecordToolContract, wirev2.RecordAssistant,
		wirev2.RecordToolCall, wirev2.RecordToolResult, wirev2.RecordTerminal:
		return nil, errors.New("the members are not those of a record of type " + string(t))
	}
	return nil, errors.New("unknown type")
}

// scanner follows a journal from its first record and knows at each point what may come next.
type scanner struct {
	id    wirev2.ID
	lines *lines
	n     int64 // of the last record
	order order
}

// next returns the next record and its offset; io.EOF ends the journal, *DamageError says what is wrong with it.
func (s *scanner) next() (wirev2.Record, int64, error) {
	line, offset, err := s.lines.line()
	if errors.Is(err, io.EOF) {
		if s.n == 0 {
			return nil, 0, &DamageError{s.id, 1, "the session record is missing"}
		}
		return nil, 0, io.EOF
	}
	if errors.Is(err, errTooLong) {
		return nil, 0, &DamageError{s.id, s.n + 1, err.Error()}
	}
	if err != nil {
		return nil, 0, err
	}
	rec, err := decode(line)
	if err == nil {
		err = s.admit(rec)
	}
	if err != nil {
		return nil, 0, &DamageError{s.id, s.n + 1, err.Error()}
	}
	s.n++
	return rec, offset, nil
}

func (s *scanner) admit(rec wirev2.Record) error {
	if n := rec.Head().N; n != s.n+1 {
		return errors.New("n is " + strconv.FormatInt(n, 10) + " and should be " + strconv.FormatInt(s.n+1, 10))
	}
	// Parsing alone would let a comma pass for the point.
	if at, err := rec.Head().At.Time(); err != nil || wirev2.NewTimestamp(at) != rec.Head().At {
		return errors.New("at is not RFC 3339 UTC with milliseconds")
	}
	if r, ok := rec.(*wirev2.SessionRecord); ok && r.SessionID != s.id {
		return errors.New("the session record is another session's")
	}
	return s.order.step(rec)
}
