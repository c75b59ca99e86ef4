package declare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Client asks a scope in which [Serve] runs.
type Client struct {
	In  io.Writer // what Serve reads; required
	Out io.Reader // what Serve writes; required
	// Source returns the bytes of a project file. A path that is no file of the
	// project is an error that wraps fs.ErrNotExist. required
	Source func(path string) ([]byte, error)

	lines *bufio.Reader
	sent  map[string]bool // sources that the scope has, and files it knows to be absent
	bytes int
}

// Evaluate asks for the default export of the declaration at path. It blocks;
// the owner of the scope bounds the time by ending it.
func (c *Client) Evaluate(path string) (jsontext.Value, error) {
	if c.lines == nil {
		c.lines, c.sent = bufio.NewReaderSize(c.Out, 64<<10), map[string]bool{}
	}
	wanted := []string{path}
	for {
		q := question{Entry: path, Sources: map[string]string{}, Absent: []string{}}
		for _, p := range wanted {
			if err := c.add(&q, p); err != nil {
				return nil, err
			}
		}
		if err := writeLine(c.In, q); err != nil {
			return nil, fmt.Errorf("declare: the scope takes no question: %w", err)
		}
		var a answer
		if err := readLine(c.lines, &a); err != nil {
			return nil, fmt.Errorf("declare: the scope gave no answer: %w", err)
		}
		switch {
		case a.Refusals != nil:
			return nil, &RefusedError{a.Refusals}
		case a.Value != nil:
			return a.Value, nil
		case len(a.Missing) == 0:
			return nil, errLine
		}
		for _, p := range a.Missing {
			if c.sent[p] { // it would go on for ever
				return nil, errLine
			}
		}
		wanted = a.Missing
	}
}

// add puts a source into the question, once in the life of the scope.
func (c *Client) add(q *question, path string) error {
	if c.sent[path] {
		return nil
	}
	refuse := func(message string) error { return &RefusedError{[]Refusal{{Path: path, Message: message}}} }
	if len(c.sent) >= MaxSources {
		return refuse(fmt.Sprintf("the declarations consist of more than %d files", MaxSources))
	}
	b, err := c.Source(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		q.Absent = append(q.Absent, path)
	case err != nil:
		return err
	case len(b) > MaxSourceBytes:
		return refuse(fmt.Sprintf("it is larger than %d bytes", MaxSourceBytes))
	case !utf8.Valid(b):
		return refuse("it is not UTF-8")
	default:
		if c.bytes += len(b); c.bytes > MaxSourcesBytes {
			return refuse(fmt.Sprintf("the declarations are larger than %d bytes together", MaxSourcesBytes))
		}
		q.Sources[path] = string(b)
	}
	c.sent[path] = true
	return nil
}
