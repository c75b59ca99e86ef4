package adapter

import (
	"bufio"
	"errors"
	"io"
)

const (
	maxStdoutBytes = 32 << 20 // all of the client's standard output
	maxLineBytes   = 16 << 20 // one line of it, or of the host, without its end
	maxStderrBytes = 64 << 10
)

var (
	errBreach = errors.New("adapter: more output than there may be")
	errHalf   = errors.New("adapter: the output ends inside a line")
)

// lines reads lines of at most maxLineBytes, and in all at most total bytes
// (negative: any number). It splits on LF alone: what else looks like the end of a
// line to a terminal may stand inside a string.
type lines struct {
	r     *bufio.Reader
	total int
	read  int
	part  []byte // of the next line
}

func newLines(r io.Reader, total int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), total: total}
}

// next is one line without its end; the bytes are the caller's. io.EOF is an end
// after a whole line.
func (l *lines) next() ([]byte, error) {
	line := l.part
	l.part = nil
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += len(part)
		if l.total >= 0 && l.read > l.total {
			return nil, errBreach
		}
		end := len(part)
		if err == nil {
			end--
		}
		if len(line)+end > maxLineBytes {
			return nil, errBreach
		}
		line = append(line, part[:end]...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return nil, errHalf
		default:
			return nil, err
		}
	}
}

// drain reads and forgets r. It says whether that was more than there may be.
func drain(r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, maxStderrBytes+1))
	if n > maxStderrBytes {
		return errBreach
	}
	return err
}
