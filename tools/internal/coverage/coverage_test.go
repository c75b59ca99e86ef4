package coverage

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRules(t *testing.T) {
	list, err := ParseRules("r.tsv", "# head\nW-017\twire-v2 1\t1\tA BOM is refused.\n\nA-001\tseed: x; y\tlater\tLater.\n")
	require.NoError(t, err)
	require.Equal(t, []Rule{
		{"W-017", "wire-v2 1", "1", "A BOM is refused."},
		{"A-001", "seed: x; y", "later", "Later."},
	}, list)
	for text, want := range map[string]string{
		"W-017\twire\t1\n":                        "r.tsv:1: want 4 fields separated by tabs, have 3",
		"W-017\twire\t1\ta\tb\n":                  "have 5",
		"\nw-017\twire\t1\ttext\n":                `r.tsv:2: "w-017" is no rule ID`,
		"W-17\twire\t1\ttext\n":                   "no rule ID",
		"W-017\twire\t0\ttext\n":                  `"0" is no issue`,
		"W-017\twire\tsoon\ttext\n":               `"soon" is no issue`,
		"W-017\twire\t1\t\n":                      "W-017 has no text",
		"W-017\tw\t1\ta\nW-017\tw\t1\tb\n":        "r.tsv:2: W-017 already stands in line 1",
		"W-017\tw\t1\ta\nW-018\tw\t1\tb\textra\n": "r.tsv:2: want 4 fields",
	} {
		_, err := ParseRules("r.tsv", text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestParseFinishedAndComplaints(t *testing.T) {
	done, err := ParseFinished("finished", "# none\n1\n 12 \n")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"1": true, "12": true}, done)
	for _, text := range []string{"one\n", "later\n", "1 2\n", "0\n"} {
		_, err := ParseFinished("finished", text)
		require.ErrorContains(t, err, "finished:1:", text)
	}

	promised, err := ParseComplaints("c.tsv", "# head\n16\t1\nB1.7\t3\n")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"16": "1", "B1.7": "3"}, promised)
	for text, want := range map[string]string{
		"16 1\n":       "c.tsv:1: want a complaint's number",
		"B.7\t1\n":     "c.tsv:1: want",
		"16\tx\n":      "c.tsv:1: want",
		"16\t1\n16\t2": "c.tsv:2: complaint 16 stands here twice",
	} {
		_, err := ParseComplaints("c.tsv", text)
		require.ErrorContains(t, err, want, text)
	}
}

// tree reads citations out of files given as text.
func tree(t *testing.T, files map[string]string) *Citations {
	t.Helper()
	var names []string
	for name := range files {
		names = append(names, name)
	}
	c, err := Read(names, func(file string) ([]byte, error) { return []byte(files[file]), nil })
	require.NoError(t, err)
	return c
}

func TestCitationsHangOnTheirTest(t *testing.T) {
	c := tree(t, map[string]string{
		"a/a_test.go": `package a
// rule: A-001
func TestAbove(t *testing.T) {}

func TestInside(t *testing.T) {
	// rule: A-001, A-002
	// rule: A-003
	for range 3 { // rule: A-003
	}
}

func FuzzIt(f *testing.F) { /* no */
	// rule: A-004
}
func ExampleA() {
	// rule: A-004
}
func BenchmarkA(b *testing.B) {
	// rule: A-004
}
func Test(t *testing.T) {
	// rule: A-005
	const text = "// rule: A-006"
}
// A rule of thumb, and the
// rule is this, cite nothing.
`,
		"a/a.go":                    "package a\n// rule: A-009\nfunc TestX() {}\n",
		"a/testdata/s.txtar":        "# rule: A-001, A-007\nexec magid\n-- f --\n# rule: A-008\n",
		"a/testdata/unrelated.text": "# rule: A-008\n",
	})
	require.Empty(t, c.Problems)
	require.Equal(t, map[string][]Test{
		"A-001": {{"a/a_test.go", "TestAbove"}, {"a/a_test.go", "TestInside"}, {"a/testdata/s.txtar", ""}},
		"A-002": {{"a/a_test.go", "TestInside"}},
		"A-003": {{"a/a_test.go", "TestInside"}},
		"A-004": {{"a/a_test.go", "BenchmarkA"}, {"a/a_test.go", "ExampleA"}, {"a/a_test.go", "FuzzIt"}},
		"A-005": {{"a/a_test.go", "Test"}},
		"A-007": {{"a/testdata/s.txtar", ""}},
	}, c.Rules)
}

func TestCitationsThatCannotBeReadAreRefused(t *testing.T) {
	for comment, want := range map[string]string{
		"// rule: ":             `"" is no rule ID`,
		"// rule: A-001,":       `"" is no rule ID`,
		"// rule: A-001 A-002":  `"A-001 A-002" is no rule ID`,
		"// rule: A-001.":       `"A-001." is no rule ID`,
		"// rule: A-1":          `"A-1" is no rule ID`,
		"// rule: A-001..A-004": "is no rule ID",
		"//rule: A-001":         "write a citation as",
		"// rules: A-001":       "write a citation as",
		"// rule A-001":         "write a citation as",
	} {
		c := tree(t, map[string]string{"a_test.go": "package a\n" + comment + "\nfunc TestX(t *testing.T) {}\n"})
		require.Len(t, c.Problems, 1, comment)
		require.Contains(t, c.Problems[0], "a_test.go:2: ")
		require.Contains(t, c.Problems[0], want, comment)
	}
	for _, fn := range []string{"func helper() {}", "func (s suite) TestX() {}", "func Testing() {}", "var x = 1", ""} {
		c := tree(t, map[string]string{"a_test.go": "package a\n// rule: A-001\n" + fn + "\n"})
		require.Len(t, c.Problems, 1, fn)
		require.Contains(t, c.Problems[0], "hangs on no test", fn)
	}
	c := tree(t, map[string]string{"a_test.go": "package a\nfunc {\n"})
	require.NotEmpty(t, c.Problems, "a file that does not parse")
	c = tree(t, map[string]string{"a.txtar": "# rule: A-001, and more\n"})
	require.Equal(t, []string{`a.txtar:1: "and more" is no rule ID; want IDs separated by commas and nothing else`}, c.Problems)
}

func TestReadTellsWhatItCouldNotRead(t *testing.T) {
	_, err := Read([]string{"a_test.go"}, func(string) ([]byte, error) { return nil, fs.ErrPermission })
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestComplaintsCarryNumberReferenceAndSymptom(t *testing.T) {
	c := tree(t, map[string]string{"a_test.go": `package a

// complaint: 16 aaif-goose/goose#7978 - a lost stream - and a resend - ran the turn twice
// rule: A-001
func TestComplaint16Goose7978(t *testing.T) {}

// complaint: B1.7 python/cpython#76116 - the grandchild kept the pipe
func TestComplaintB1_7Cpython76116(t *testing.T) {}

// complaint: 2 owner/project#2 - earlier
// complaint: 16 owner/project#3 - the same
func TestComplaint2_Other(t *testing.T) {}
`})
	require.Empty(t, c.Problems)
	require.Equal(t, []Complaint{
		{"2", "owner/project#2", "earlier", Test{"a_test.go", "TestComplaint2_Other"}},
		{"16", "aaif-goose/goose#7978", "a lost stream - and a resend - ran the turn twice", Test{"a_test.go", "TestComplaint16Goose7978"}},
		{"16", "owner/project#3", "the same", Test{"a_test.go", "TestComplaint2_Other"}},
		{"B1.7", "python/cpython#76116", "the grandchild kept the pipe", Test{"a_test.go", "TestComplaintB1_7Cpython76116"}},
	}, c.Complaints)
	require.Len(t, c.Rules["A-001"], 1)

	for text, want := range map[string]string{
		"// complaint: 16 a/b#1 - s\nfunc TestOther(t *testing.T) {}":           "complaint 16 belongs directly above a function TestComplaint16Name",
		"// complaint: 16 a/b#1 - s\nfunc TestComplaint16(t *testing.T) {}":     "TestComplaint16 has no line",
		"// complaint: 1 a/b#1 - s\nfunc TestComplaint16X(t *testing.T) {}":     "TestComplaint16X has no line",
		"// complaint: B1.7 a/b#1 - s\nfunc TestComplaintB17X(t *testing.T) {}": "TestComplaintB17X has no line",
		"// complaint: 16 a/b#1\nfunc TestComplaint16X(t *testing.T) {}":        `write "// complaint:`,
		"// complaint: x a/b#1 - s\nfunc TestComplaint16X(t *testing.T) {}":     `write "// complaint:`,
		"func TestComplaint16X(t *testing.T) {}":                                "TestComplaint16X has no line",
		"func TestComplaint16X(t *testing.T) {\n// complaint: 16 a/b#1 - s\n}":  "TestComplaint16X has no line",
	} {
		c := tree(t, map[string]string{"a_test.go": "package a\n\n" + text + "\n"})
		require.NotEmpty(t, c.Problems, text)
		require.Contains(t, strings.Join(c.Problems, "\n"), want, text)
	}
}

func TestPagesAreTheSameEveryTimeAndEscapeTheirCells(t *testing.T) {
	lists := []List{{"magid", []Rule{
		{"A-001", "seed", "1", "a | b <c> `d` _e_"},
		{"A-002", "seed", "2", "open"},
		{"A-003", "seed", "later", "open"},
	}}}
	c := &Citations{
		Rules: map[string][]Test{"A-001": {{"w/a_test.go", "TestA"}, {"w/testdata/s.txtar", ""}}},
		Complaints: []Complaint{
			{"2", "a/b#1", "first | symptom", Test{"w/a_test.go", "TestComplaint2A"}},
		},
	}
	want := ConformancePage(lists, c)
	require.Contains(t, want, `| A-001 | seed | 1 | a \| b &lt;c> \`+"`d\\`"+` \_e\_ | [TestA](../w/a_test.go), [s](../w/testdata/s.txtar) |`)
	require.Contains(t, want, "| A-002 | seed | 2 | open | open |")
	require.Contains(t, want, "| 1 | 1 | 1 |\n| 2 | 1 | 0 |\n| later | 1 | 0 |\n")
	require.Contains(t, ComplaintsPage(c), `| 2 | a/b#1 | first \| symptom | [TestComplaint2A](../w/a_test.go) |`)
	for range 20 {
		require.Equal(t, want, ConformancePage(lists, c))
	}
	require.Equal(t, []string{"x_test.go: TestX cites A-009, which no rules file holds"},
		Unknown(lists, &Citations{Rules: map[string][]Test{"A-001": nil, "A-009": {{"x_test.go", "TestX"}}}}))
	require.Equal(t, Tally{"2", 1, 0, []string{"A-002"}}, Count(lists, c)[1])
}
