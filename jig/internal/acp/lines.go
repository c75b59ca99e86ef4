package acp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// breach is a stream of the adapter that left its bounds. Its text is fixed.
type breach struct {
	what     string
	protocol bool // the finite protocol forbids it, rather than a bound of the host
}

func (b *breach) Error() string { return "acp: " + b.what }

// tooMuch is a breach of one of the protocol's own bounds.
func tooMuch(what string, most int) error { return &breach{fmt.Sprintf(what, most), true} }

// lines reads the adapter's output line by line, within bounds that are checked
// before anything is kept.
type lines struct {
	r     *bufio.Reader
	l     Limits
	total int
	count int
}

func newLines(r io.Reader, l Limits) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), l: l}
}

// next is the next line without its newline, in memory of its own, or io.EOF.
func (n *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := n.r.ReadSlice('\n')
		n.total += len(part)
		size := len(line) + len(part)
		if err == nil {
			size-- // the newline
		}
		switch {
		case n.total > n.l.OutputBytes:
			return nil, tooMuch("the client's adapter wrote more than it may: more than %d bytes", n.l.OutputBytes)
		case size > n.l.LineBytes:
			return nil, tooMuch("a line of the client's adapter is too long: more than %d bytes", n.l.LineBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			if n.count++; n.count > n.l.Lines {
				return nil, tooMuch("the client's adapter wrote more lines than it may: more than %d", n.l.Lines)
			}
			if line = line[:size]; len(line) == 0 {
				return nil, &breach{"a line of the client's adapter is empty", true}
			}
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return nil, &breach{"the output of the client's adapter ended inside a line", true}
		default:
			return nil, io.EOF // however it ended: what there was is complete
		}
	}
}

// drain throws standard error away. It returns when that has ended, or with what
// is wrong with it.
func drain(r io.Reader, most int) error {
	buffer := make([]byte, 8<<10)
	total := 0
	for {
		n, err := r.Read(buffer)
		if total += n; total > most {
			return &breach{fmt.Sprintf("the client's adapter wrote too much on standard error: more than %d bytes", most), false}
		}
		if err != nil {
			return nil
		}
	}
}
