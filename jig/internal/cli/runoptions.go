package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/acpframing/json0"
)

const (
	defaultTimeout = "30s"
	maxTimeout     = 24 * time.Hour
	maxReceive     = 16
)

var duration = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)(ms|s|m|h)$`) })

var units = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour}

// parseTimeout reads N(ms|s|m|h): no leading zero, more than nothing, at most a
// day.
func parseTimeout(s string) (time.Duration, error) {
	wrong := &refusal{code: codeTimeoutInvalid, message: "--timeout is a number with ms, s, m or h, such as 90s, at most 24h"}
	m := duration().FindStringSubmatch(s)
	if m == nil || len(m[1]) > 9 {
		return 0, wrong
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n == 0 || time.Duration(n) > maxTimeout/units[m[2]] {
		return 0, wrong
	}
	return time.Duration(n) * units[m[2]], nil
}

// readFile reads a file of at most one byte more than an input may have; "-" is
// standard input.
func (a *app) readFile(name string) ([]byte, error) {
	var source io.Reader = a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, unreadInput(name, err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return nil, unreadInput(name, errors.Join(err, errFolder))
		}
		source = f
	}
	raw, err := io.ReadAll(io.LimitReader(source, json0.MaxBytes+1))
	if err != nil {
		return nil, unreadInput(name, err)
	}
	return raw, nil
}

// readInput reads --input: JSON, @FILE, or @- for standard input. Nothing given
// is {}. Whoever writes the other end may keep it waiting, and a signal ends that.
func (a *app) readInput(ctx context.Context, option string, given bool) (jsontext.Value, error) {
	if !given {
		return jsontext.Value("{}"), nil
	}
	raw := []byte(option)
	if name, file := strings.CutPrefix(option, "@"); file {
		type content struct {
			raw []byte
			err error
		}
		read := make(chan content, 1)
		go func() {
			raw, err := a.readFile(name)
			read <- content{raw, err}
		}()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case c := <-read:
			if c.err != nil {
				return nil, c.err
			}
			raw = c.raw
		}
	}
	if len(raw) > json0.MaxBytes {
		return nil, refuse(codeInputInvalid, "the input is larger than 16777216 bytes")
	}
	canonical, err := json0.Canonical(raw)
	if err != nil {
		return nil, inputError(raw, err)
	}
	return canonical, nil
}
