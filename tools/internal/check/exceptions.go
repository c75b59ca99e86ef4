package check

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// ExceptionsFile is where the exceptions stand: check, file and reason,
// separated by tabs; lines that begin with # are comments.
const ExceptionsFile = "tools/exceptions.tsv"

// Exceptions excuse files from checks. It is safe for concurrent use.
type Exceptions struct {
	state *exceptions
}

type exceptions struct {
	mu    sync.Mutex
	lines map[[2]string]int  // check and file to the line that excuses them
	used  map[[2]string]bool // guarded by mu
}

// ReadExceptions reads ExceptionsFile below root; a missing file excuses nothing.
func ReadExceptions(root string, all []Check) (Exceptions, error) {
	data, err := workspace.Read(root, ExceptionsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Exceptions{}, err
	}
	return parseExceptions(string(data), all)
}

func parseExceptions(text string, all []Check) (Exceptions, error) {
	known := map[string]bool{}
	for _, c := range all {
		known[c.Name] = true
	}
	x := &exceptions{lines: map[[2]string]int{}, used: map[[2]string]bool{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Split(line, "\t")
		if len(field) != 3 || strings.TrimSpace(field[2]) == "" {
			return Exceptions{}, fmt.Errorf("%s:%d: want check, file and reason separated by tabs", ExceptionsFile, n)
		}
		if !known[field[0]] {
			return Exceptions{}, fmt.Errorf("%s:%d: no check is called %q", ExceptionsFile, n, field[0])
		}
		key := [2]string{field[0], field[1]}
		if x.lines[key] != 0 {
			return Exceptions{}, fmt.Errorf("%s:%d: already in line %d", ExceptionsFile, n, x.lines[key])
		}
		x.lines[key] = n
	}
	return Exceptions{x}, nil
}

// excuse says whether file is excused from check, and remembers that the
// exception was of use.
func (x Exceptions) excuse(check, file string) bool {
	if x.state == nil {
		return false
	}
	key := [2]string{check, file}
	x.state.mu.Lock()
	defer x.state.mu.Unlock()
	if x.state.lines[key] == 0 {
		return false
	}
	x.state.used[key] = true
	return true
}

// stale returns a problem for each exception of the check that excused nothing.
func (x Exceptions) stale(check string) Problems {
	if x.state == nil {
		return nil
	}
	x.state.mu.Lock()
	defer x.state.mu.Unlock()
	var p Problems
	for key, line := range x.state.lines {
		if key[0] == check && !x.state.used[key] {
			p.add("%s:%d: %s needs no exception from %s; remove the line", ExceptionsFile, line, key[1], check)
		}
	}
	return p
}
