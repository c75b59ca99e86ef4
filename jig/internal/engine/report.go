package engine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

const (
	maxPrintBytes   = 16 << 10 // of one console line
	maxThrownRunes  = 4096     // of one error
	maxThrownFrames = 8
)

// diagnose tells the host something in a form of its own.
func (r *runner) diagnose(d Diagnostic) { r.Err.Write(d.line()) }

// say writes text of the author's, or about it, as one line.
func (r *runner) say(text string) { r.Err.Write([]byte(oneLine(text) + "\n")) }

// oneLine keeps text on one line of bounded length, without the character that
// begins a diagnostic.
func oneLine(text string) string {
	if len(text) > maxPrintBytes {
		text = strings.ToValidUTF8(text[:maxPrintBytes], "") + "…"
	}
	return strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\r`, "\x1e", "\ufffd").Replace(text)
}

// harmless is text as it is, without the character that begins a diagnostic.
func harmless(text string) string { return strings.ReplaceAll(text, "\x1e", "\ufffd") }

// thrown reports an error of the author's. how says where it came from.
func (r *runner) thrown(how, head, stack, limit string) {
	if utf8.RuneCountInString(head) > maxThrownRunes {
		head = string([]rune(head)[:maxThrownRunes])
	}
	r.say(head)
	if frames := r.trace(stack, maxThrownFrames); frames != "" {
		r.Err.Write([]byte(harmless(frames) + "\n"))
	}
	r.limit(limit)
	if how == "uncaught" || how == "unhandled" {
		r.exit(exitFailed)
	}
}

var stackFrame = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*at (?:(.*) \()?` + PackageDir + `/(.*?):(\d+)(?::(\d+))?\)?$`)
})

// trace writes the frames of a stack that lie in the package, at the places where
// the author wrote them.
func (r *runner) trace(stack string, most int) string {
	var out []string
	for line := range strings.SplitSeq(stack, "\n") {
		m := stackFrame().FindStringSubmatch(line)
		if m == nil || len(out) == most {
			continue
		}
		l, _ := strconv.Atoi(m[3])
		c, _ := strconv.Atoi(m[4])
		place := r.modules.place(m[2], l, c)
		if m[1] != "" && m[1] != "<anonymous>" && m[1] != "<eval>" {
			place = m[1] + " (" + place + ")"
		}
		out = append(out, "    at "+place)
	}
	return strings.Join(out, "\n")
}

// refuse reports imports and files that cannot be loaded.
func (r *runner) refuse(p *source.Problem) { r.diagnose(refusal(p)) }

func refusal(p *source.Problem) Diagnostic {
	d := Diagnostic{Code: CodeModuleRefused, Message: p.Message, Path: p.Path, Line: p.Line, Column: p.Column, Hint: p.Hint}
	if p.Syntax {
		d.Code = CodeSyntax
	}
	return d
}

func position(file string, line, column int) string {
	if column == 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}
