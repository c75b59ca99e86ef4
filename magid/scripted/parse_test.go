package scripted

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`
# a script with every instruction
loop
reply
	header X-A  one two
	header "X B" "a\tb"
	framing until-close
	split 3
	pace 5ms
	text Hello there
	text " quoted \"x\" "
	refusal No, thanks
	call 0 call_1 read_file {"path": "a"}
	call -1 "" "list files"
	arguments 2 {"x
	arguments 2 ""
	finish tool_calls
	usage 3 4
	done
reply 429
	framing raw
	write "a\r\nb"
	write "" 
	hex e58c
	event {"a":1}
	event "a\nb"
	comment ping
	head
	wait 1m
	hold
	hold gate
	close
	reset
	repeat 3 10ms comment ping
	forever 0s write x
reply 200
	framing length
reply
	framing chunked
`))
	require.NoError(t, err)
	require.Equal(t, Script{Loop: true, Replies: []Reply{
		{
			Header:  []Field{{"X-A", "one two"}, {"X B", "a\tb"}},
			Framing: UntilClose, Split: 3, Pace: 5 * time.Millisecond,
			Steps: []Step{
				Text("Hello there"), Text(` quoted "x" `),
				Refusal("No, thanks"),
				ToolCall(Call{Index: 0, ID: "call_1", Name: "read_file", Arguments: `{"path": "a"}`}),
				ToolCall(Call{Index: -1, Name: "list files"}),
				Arguments(2, `{"x`), Arguments(2, ""),
				Finish("tool_calls"), Usage(3, 4), Done(),
			},
		},
		{
			Status: 429, Framing: Raw,
			Steps: []Step{
				Write("a\r\nb"), Write(""), Write("\xe5\x8c"), Event(`{"a":1}`), Event("a\nb"), Comment("ping"),
				Head(), Wait(time.Minute), Hold(""), Hold("gate"), Close(), Reset(),
				Repeat(3, Wait(10*time.Millisecond), Comment("ping")), Forever(Wait(0), Write("x")),
			},
		},
		{Status: 200, Framing: Length},
		{Framing: Chunked},
	}}, s)
}

func TestParseTakesLineEndsOfWindows(t *testing.T) {
	s, err := Parse([]byte("reply\r\ntext a\r\ndone"))
	require.NoError(t, err)
	require.Equal(t, []Step{Text("a"), Done()}, s.Replies[0].Steps)
}

func TestParseNamesTheLine(t *testing.T) {
	for in, says := range map[string]string{
		"":                                    "no reply",
		"# nothing\n\n":                       "no reply",
		"loop\n":                              "no reply",
		"text a":                              "line 1: the first instruction must be reply or loop",
		"\n\nrepply":                          "line 3: the first instruction must be reply or loop",
		"reply\nrepply":                       `line 2: "repply" is no instruction`,
		"reply 99":                            "line 1: the status must be a whole number from 100 to 999",
		"reply 1000":                          "line 1: the status",
		"reply 200 x":                         "line 1: there is more on the line",
		"loop x":                              "line 1: there is more on the line",
		"reply\ntext":                         `line 2: the text is missing; an empty one is written ""`,
		"reply\ntext \"a\" b":                 "line 2: what begins with a quote must be one JSON string",
		"reply\ntext \"a":                     "line 2: what begins with a quote must be one JSON string",
		"reply\ntext \"\\ud83d\"":             "line 2: what begins with a quote must be one JSON string",
		"reply\ncall":                         "line 2: the index is missing",
		"reply\ncall x a b":                   "line 2: the index must be a whole number",
		"reply\ncall -2 a b":                  "line 2: the index must be a whole number from -1",
		"reply\ncall 0 a":                     "line 2: the name is missing",
		"reply\ncall 0 \"a\"b c":              "line 2: a JSON string ends with a blank",
		"reply\nusage 1":                      "line 2: the number of tokens is missing",
		"reply\nusage 1 -1":                   "line 2: the number of tokens must be",
		"reply\ndone x":                       "line 2: there is more on the line",
		"reply\nhex 0":                        "line 2: these are no hexadecimal bytes",
		"reply\nwait":                         "line 2: the duration is missing",
		"reply\nwait 3":                       "line 2: a duration is written as",
		"reply\nwait -3s":                     "line 2: a duration is written as",
		"reply\nhold a b":                     "line 2: there is more on the line",
		"reply\nframing x":                    `line 2: "x" is no framing: chunked, until-close, length and raw are`,
		"reply\nsplit 0":                      "line 2: the number of bytes must be a whole number from 1",
		"reply\nheader":                       "line 2: the name is missing",
		"reply\nheader a":                     "line 2: the value is missing",
		"reply\nheader \"\" a":                "line 2: a header field has a name",
		"reply\nheader a \"\\n\"":             "line 2: a header field has a name and no line end",
		"reply\nrepeat 1048577 0s done":       "line 2: the number of times",
		"reply\nrepeat 2 0s repeat 2 0s x":    "line 2: repeat and forever do not nest",
		"reply\nforever 0s":                   "line 2: the instruction is missing",
		"reply\nforever 0s reply":             `line 2: "reply" is no instruction`,
		"reply\ntext \xff":                    "not UTF-8; write such bytes with hex",
		strings.Repeat("#", MaxScriptBytes+1): "longer than 4194304 bytes",
	} {
		_, err := Parse([]byte(in))
		require.ErrorContains(t, err, says, "%.40q", in)
		require.ErrorContains(t, err, "scripted: ")
	}
	_, err := Parse([]byte("reply\n" + strings.Repeat("#", MaxScriptBytes-6)))
	require.NoError(t, err)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("loop\nreply 429\nheader a b\nsplit 1\ntext \"a\"\ncall 0 a b {}\ndone\nrepeat 3 1s comment x\n"))
	f.Add([]byte("reply\nhex e5\nhold x\nforever 0s write \"\"\nclose\nreset\nusage 1 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			require.Empty(t, s)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.NotEmpty(t, s.Replies)
	})
}
