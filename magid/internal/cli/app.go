package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/magi-jig/magi-jig/wirev2"
)

// app is what every command works with.
type app struct {
	in       io.Reader
	out, err io.Writer
	written  *output // out, which remembers whether all was written
	// Which of the three is a terminal.
	inTerminal, outTerminal, errTerminal bool
	colour                               bool // on standard output
	getenv                               func(string) string
	json                                 bool
}

func newApp(stdin, stdout, stderr *os.File, getenv func(string) string) *app {
	written := &output{to: stdout}
	a := &app{in: stdin, out: written, err: stderr, written: written, getenv: getenv}
	a.inTerminal, a.outTerminal, a.errTerminal = isTerminal(stdin), isTerminal(stdout), isTerminal(stderr)
	a.colour = a.outTerminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return a
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// say writes a line for a person: to standard error where standard output is for an object.
func (a *app) say(format string, args ...any) {
	w := a.out
	if a.json {
		w = a.err
	}
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}

// result prints the one object of --json, or else what the person's version says.
func (a *app) result(object any, person func()) error {
	if !a.json {
		person()
		return nil
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", encoded)
	return err
}

// failure is how --json shows that a command failed.
type failure struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// report shows why a command failed.
func (a *app) report(err error) {
	var silent silentError
	if !errors.As(err, &silent) {
		_, _ = fmt.Fprintf(a.err, "magid: %s\n", plain(err.Error()))
	}
	if !a.json {
		return
	}
	var object failure
	object.Error.Code, object.Error.Message = errorCode(err), plain(err.Error())
	if encoded, err := json.Marshal(object); err == nil {
		_, _ = fmt.Fprintf(a.out, "%s\n", encoded)
	}
}

// errorCode is the wire's code where the daemon refused, and a word for the exit code otherwise.
func errorCode(err error) string {
	var refused *wirev2.Error
	if errors.As(err, &refused) {
		return string(refused.Code)
	}
	switch exitCode(err) {
	case exitUsage:
		return "usage"
	case exitNoDaemon:
		return "no_daemon"
	default:
		return "failed"
	}
}

// plain takes the control characters out of a text that somebody else wrote, save LF and TAB, so
// that it cannot steer the terminal it is shown on.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r):
			return '\ufffd'
		}
		return r
	}, text)
}

// The few styles there are.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

func (a *app) styled(style, text string) string {
	if !a.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// version is the module's, as the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "0.1.0-dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
