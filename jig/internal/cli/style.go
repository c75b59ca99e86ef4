package cli

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// style is how text for a person looks on one stream.
type style struct {
	color bool
	ascii bool
	width int // columns; 0: do not wrap
}

// newStyle decides, in this order: the --color option, NO_COLOR, CLICOLOR_FORCE
// and FORCE_COLOR, TERM=dumb, whether it is a terminal.
func newStyle(f any, option string, e project.Environment) style {
	s := style{ascii: asciiOnly(e)}
	terminal := isTerminal(f)
	if terminal {
		if w, ok := f.(*lockedWriter); ok {
			f = w.f
		}
		s.width = terminalWidth(f.(*os.File))
	}
	on := func(name string) bool { v := e.Get(name); return v != "" && v != "0" && v != "false" }
	switch {
	case option == "always":
		s.color = true
	case option == "never":
	case e.Get("NO_COLOR") != "":
	case on("CLICOLOR_FORCE"), on("FORCE_COLOR"):
		s.color = true
	case e.Get("TERM") == "dumb":
	default:
		s.color = terminal
	}
	return s
}

// asciiOnly: the locale says what the terminal can show.
func asciiOnly(e project.Environment) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := e.Get(name); v != "" {
			low := strings.ToLower(v)
			return !strings.Contains(low, "utf-8") && !strings.Contains(low, "utf8")
		}
	}
	return false
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	dim    = "2"
)

func (s style) paint(code, text string) string {
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) choose(unicode, ascii string) string {
	if s.ascii {
		return ascii
	}
	return unicode
}

func (s style) arrow() string { return s.choose("→", "->") }
func (s style) yes() string   { return s.choose("✓", "+") }
func (s style) no() string    { return s.choose("✗", "x") }

// columns is the width of the terminal, or what most have.
func (s style) columns() int {
	if s.width > 0 {
		return s.width
	}
	return 80
}

// cells is how many columns text takes, rather too many than too few: everything
// behind the alphabets may be wide.
func cells(text string) int {
	n := 0
	for _, r := range text {
		if n++; r >= 0x1100 {
			n++
		}
	}
	return n
}

// fit is text in less than a line of the terminal: of what is longer, its end.
func (s style) fit(text string) string {
	text = s.narrow(text)
	room := s.columns() - 1
	if cells(text) <= room {
		return text
	}
	more := s.choose("…", "...")
	room -= cells(more)
	from := len(text)
	for from > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:from])
		if room -= cells(string(r)); room < 0 {
			break
		}
		from -= n
	}
	return more + text[from:]
}

// narrow escapes what an ASCII terminal cannot show.
func (s style) narrow(text string) string {
	if !s.ascii {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r == '…':
			b.WriteString("...")
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}

// wrap breaks plain text at spaces so that no line is longer than the terminal,
// and indents all lines but the first.
func (s style) wrap(text string, indent int) string {
	text = s.narrow(text)
	if s.width == 0 || utf8.RuneCountInString(text)+indent <= s.width {
		return text
	}
	room := max(s.width-indent, 10)
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		for utf8.RuneCountInString(word) > room {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			cut := len(string([]rune(word)[:room]))
			lines = append(lines, word[:cut])
			word = word[cut:]
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= room:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", indent))
}
