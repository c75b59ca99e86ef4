package declare

import (
	"bufio"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

// question asks for one declaration. Sources holds what the scope does not have
// yet; Absent are files that do not exist.
type question struct {
	Entry   string            `json:"entry"`
	Sources map[string]string `json:"sources"`
	Absent  []string          `json:"absent"`
}

// answer is exactly one of the three.
type answer struct {
	Value    jsontext.Value `json:"value,omitzero"`
	Refusals []Refusal      `json:"refusals,omitzero"`
	Missing  []string       `json:"missing,omitzero"`
}

var errLine = errors.New("declare: a line is no JSON/0 message")

// readLine reads one message into v. io.EOF is the end on a boundary.
func readLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > json0.MaxBytes {
			return errLine
		}
		line = append(line, part...)
		switch {
		case err == nil:
			if json0.Decode(line[:len(line)-1], v) != nil {
				return errLine
			}
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

func writeLine(w io.Writer, v any) error {
	line, err := json0.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
