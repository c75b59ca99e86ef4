package catalog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

func TestReadFileGivesLines(t *testing.T) {
	dir := tree(t, map[string]string{"f": "one\ntwo\r\nthree", "empty": "", "lf": "\n", "end": "a\nb\n"})
	for _, test := range []struct {
		path          string
		offset, limit int
		want          readReply
	}{
		{"f", 0, 0, readReply{Text: "one\ntwo\r\nthree", Lines: 3}},
		{"f", 1, 3, readReply{Text: "one\ntwo\r\nthree", Lines: 3}},
		{"f", 1, 2, readReply{Text: "one\ntwo\r\n", Lines: 2, Truncated: true, Next: 3}},
		{"f", 2, 1, readReply{Text: "two\r\n", Lines: 1, Truncated: true, Next: 3}},
		{"f", 3, 1, readReply{Text: "three", Lines: 1}},
		{"f", 3, 4, readReply{Text: "three", Lines: 1}},
		{"f", 4, 0, readReply{}},
		{"empty", 0, 0, readReply{}},
		{"lf", 1, 0, readReply{Text: "\n", Lines: 1}},
		{"end", 0, 2, readReply{Text: "a\nb\n", Lines: 2}},
		{"end", 0, 1, readReply{Text: "a\n", Lines: 1, Truncated: true, Next: 2}},
	} {
		a := args{"path": test.path}
		if test.offset > 0 {
			a["offset"] = test.offset
		}
		if test.limit > 0 {
			a["limit"] = test.limit
		}
		require.Equal(t, test.want, ok[readReply](t, dir, ToolReadFile, a), a)
	}
	_, err := run(t, dir, ToolReadFile, args{"path": "f", "offset": 5})
	require.Equal(t, &ToolError{CodeExecutionFailed, "the file has only 3 lines"}, err)
	_, err = run(t, dir, ToolReadFile, args{"path": "f", "offset": int64(maxInteger)})
	require.Equal(t, CodeExecutionFailed, err.Code)
}

// rule: M-051
func TestReadFileFitsAndSaysWhereToGoOn(t *testing.T) {
	for name, line := range map[string]string{
		"ascii": strings.Repeat("x", 79), "escapes": strings.Repeat("\"\\\u007f\u2028", 10), "wide": strings.Repeat("北京😀", 8), "long": strings.Repeat("y", 7000),
	} {
		t.Run(name, func(t *testing.T) {
			var whole strings.Builder
			for i := range 700 {
				fmt.Fprintf(&whole, "%d %s\n", i, line)
			}
			dir := tree(t, map[string]string{"f": whole.String()})
			var got strings.Builder
			next, calls := int64(1), 0
			for {
				r := ok[readReply](t, dir, ToolReadFile, args{"path": "f", "offset": next})
				got.WriteString(r.Text)
				calls++
				require.Equal(t, r.Truncated, r.Next > 0)
				require.Positive(t, r.Lines)
				if r.Next == 0 {
					break
				}
				require.Equal(t, next+r.Lines, r.Next)
				require.Greater(t, wirev2.EncodedStringLen(r.Text)+wirev2.EncodedStringLen(line)+8, MaxResultBytes-frameBytes, "one more would not have fitted")
				next = r.Next
			}
			require.Equal(t, whole.String(), got.String())
			require.Greater(t, calls, 1)
		})
	}
}

// rule: M-051
func TestALineThatDoesNotFitIsCutAndMarked(t *testing.T) {
	const budget = MaxResultBytes - frameBytes
	for size, cut := range map[int]bool{budget - 1: false, budget: false, budget + 1: true, 100000: true, 300000: true} {
		line := strings.Repeat("x", size-2) // the LF takes two as encoded
		dir := tree(t, map[string]string{"f": line + "\nnext\n", "alone": line + "xx"})
		r := ok[readReply](t, dir, ToolReadFile, args{"path": "f", "limit": 1})
		require.True(t, r.Truncated)
		require.Equal(t, int64(2), r.Next)
		require.Equal(t, cut, r.Note != "", size)
		if cut {
			require.True(t, strings.HasPrefix(line+"\n", r.Text))
			require.GreaterOrEqual(t, len(r.Text), budget-1)
		} else {
			require.Equal(t, line+"\n", r.Text)
		}
		require.Equal(t, "next\n", ok[readReply](t, dir, ToolReadFile, args{"path": "f", "offset": 2}).Text)
		r = ok[readReply](t, dir, ToolReadFile, args{"path": "alone"})
		require.Equal(t, cut, r.Truncated, size)
		require.Zero(t, r.Next)
	}
	// Whole characters only.
	dir := tree(t, map[string]string{"f": strings.Repeat("😀", 10000)})
	r := ok[readReply](t, dir, ToolReadFile, args{"path": "f"})
	require.True(t, utf8.ValidString(r.Text))
	require.NotContains(t, r.Text, "\uFFFD")
	require.Equal(t, budget/4, utf8.RuneCountInString(r.Text))
}

func TestReadFileOnBytesThatAreNoText(t *testing.T) {
	dir := tree(t, map[string]string{"latin": "caf\xe9\nok\n", "binary": "ELF\x00\x01\n", "late": "text\n\x00\n", "surrogate": "\xed\xa0\x80"})
	r := ok[readReply](t, dir, ToolReadFile, args{"path": "latin"})
	require.Equal(t, "caf\uFFFD\nok\n", r.Text)
	require.Contains(t, r.Note, "not UTF-8")
	require.False(t, r.Truncated)
	require.Empty(t, ok[readReply](t, dir, ToolReadFile, args{"path": "latin", "offset": 2}).Note)
	require.Contains(t, ok[readReply](t, dir, ToolReadFile, args{"path": "surrogate"}).Note, "not UTF-8")
	for _, path := range []string{"binary", "late"} {
		_, err := run(t, dir, ToolReadFile, args{"path": path})
		require.Equal(t, &ToolError{CodeExecutionFailed, "it is a binary file"}, err)
	}
}

func TestAHugeFileIsReadInPart(t *testing.T) {
	dir := tree(t, map[string]string{"f": "first\n"})
	// A sparse file of 1 TiB without a second line end.
	require.NoError(t, os.Truncate(filepath.Join(dir, "f"), 1<<40))
	r := ok[readReply](t, dir, ToolReadFile, args{"path": "f", "limit": 1})
	require.Equal(t, "first\n", r.Text)
	_, err := run(t, dir, ToolReadFile, args{"path": "f", "offset": 3})
	require.Equal(t, &ToolError{CodeExecutionFailed, "the line lies more than 256 MiB into the file"}, err)
	found := ok[findReply](t, dir, ToolFindText, args{"text": "first"})
	require.Empty(t, found.Matches, "binary")
}

// rule: M-047, M-051
func TestListFilesListsOneFolderByName(t *testing.T) {
	dir := tree(t, map[string]string{"b.txt": "12345", "a/x": "", "a/y/z": "", "é": "", "l": "-> b.txt"})
	for _, a := range []args{{}, {"path": "."}, {"path": ""}, {"path": "./"}} {
		r := ok[listReply](t, dir, ToolListFiles, a)
		require.Equal(t, []string{"a", "b.txt", "l", "é"}, r.names())
		require.False(t, r.Truncated)
		require.Equal(t, "folder", r.Entries[0].Type)
		require.Equal(t, "file", r.Entries[1].Type)
		require.Equal(t, int64(5), *r.Entries[1].Bytes)
		require.Nil(t, r.Entries[0].Bytes)
		require.Equal(t, "link", r.Entries[2].Type)
	}
	require.Equal(t, []string{"x", "y"}, ok[listReply](t, dir, ToolListFiles, args{"path": "a/"}).names())
	require.Empty(t, ok[listReply](t, t.TempDir(), ToolListFiles, args{}).Entries)
	many := t.TempDir()
	for i := range 200 {
		require.NoError(t, os.WriteFile(filepath.Join(many, fmt.Sprintf("file-%04d-%s", i, strings.Repeat("n", 100))), nil, 0o600))
	}
	r := ok[listReply](t, many, ToolListFiles, args{})
	require.True(t, r.Truncated)
	require.True(t, strings.HasPrefix(r.Entries[0].Name, "file-0000-"))
	require.Greater(t, len(r.Entries), 100)
	odd := tree(t, map[string]string{"a\xffb": "", "c\nd": ""})
	require.Equal(t, []string{"a\uFFFDb", "c\nd"}, ok[listReply](t, odd, ToolListFiles, args{}).names())
}

func TestAFolderIsReadToItsBound(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		require.NoError(t, os.Symlink("x", filepath.Join(dir, strconv.Itoa(i))))
	}
	for limit := 19; limit <= 21; limit++ {
		f, err := os.Open(dir)
		require.NoError(t, err)
		entries, more, toolErr := readFolder(t.Context(), f, limit)
		require.NoError(t, f.Close())
		require.Nil(t, toolErr)
		require.Equal(t, limit < 20, more)
		require.Len(t, entries, min(limit, 20))
		require.True(t, slices.IsSortedFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }))
	}
}

// rule: M-047
func TestFindTextFindsLines(t *testing.T) {
	dir := tree(t, map[string]string{
		"b.go": "func a() {}\n// needle and needle\r\n\nNeedle\nneedle", "a/x.txt": "needle\n", "a.txt": "nothing", "bin": "needle\x00", "empty": "",
	})
	r := ok[findReply](t, dir, ToolFindText, args{"text": "needle"})
	require.Equal(t, []match{{"a/x.txt", 1, "needle"}, {"b.go", 2, "// needle and needle"}, {"b.go", 5, "needle"}}, r.Matches)
	require.Equal(t, 4, r.Files, "without the binary one")
	require.False(t, r.Truncated)
	require.Empty(t, r.Note)
	r = ok[findReply](t, dir, ToolFindText, args{"text": "needle", "path": "a"})
	require.Equal(t, []match{{"a/x.txt", 1, "needle"}}, r.Matches)
	r = ok[findReply](t, dir, ToolFindText, args{"text": "needle", "path": "b.go"})
	require.Len(t, r.Matches, 2)
	require.Empty(t, ok[findReply](t, dir, ToolFindText, args{"text": "no such thing"}).Matches)
	require.Empty(t, ok[findReply](t, dir, ToolFindText, args{"text": ".*"}).Matches, "it is no pattern")
}

func TestFindTextAcrossTheWindow(t *testing.T) {
	for _, at := range []int{searchWindow - 7, searchWindow - 6, searchWindow - 5, searchWindow - 1, searchWindow, searchWindow + 1, 2*searchWindow - 3} {
		for name, filler := range map[string]string{"one long line": "x", "short lines": "x\n"} {
			before := strings.Repeat(filler, at/len(filler)+1)[:at]
			dir := tree(t, map[string]string{"f": before + "needle" + strings.Repeat("z", 10) + "\nneedle"})
			r := ok[findReply](t, dir, ToolFindText, args{"text": "needle"})
			require.Len(t, r.Matches, 2, "%s %d", name, at)
			require.Equal(t, int64(strings.Count(before, "\n")+1), r.Matches[0].Line)
			require.Equal(t, int64(strings.Count(before, "\n")+2), r.Matches[1].Line)
			require.Contains(t, r.Matches[0].Text, "needlezzzzzzzzzz")
			if filler == "x" {
				require.True(t, strings.HasPrefix(r.Matches[0].Text, "…xxxx"))
			}
		}
	}
	// Two matches in one line that fills windows are one line.
	dir := tree(t, map[string]string{"f": "needle" + strings.Repeat("x", 3*searchWindow) + "needle"})
	require.Len(t, ok[findReply](t, dir, ToolFindText, args{"text": "needle"}).Matches, 1)
}

// rule: M-051
func TestFindTextFitsAndIsMarkedWhenCut(t *testing.T) {
	dir := tree(t, map[string]string{"f": strings.Repeat("needle "+strings.Repeat("\"", 100)+"\n", 5000)})
	r := ok[findReply](t, dir, ToolFindText, args{"text": "needle"})
	require.True(t, r.Truncated)
	require.Contains(t, r.Note, "more matches")
	require.Greater(t, len(r.Matches), 50)
	long := strings.Repeat("é", 500) + "needle" + strings.Repeat("é", 500)
	dir = tree(t, map[string]string{"f": long})
	r = ok[findReply](t, dir, ToolFindText, args{"text": "needle"})
	shown := r.Matches[0].Text
	require.True(t, strings.HasPrefix(shown, "…é") && strings.HasSuffix(shown, "é…"), shown)
	require.Contains(t, shown, "éneedleé")
	require.NotContains(t, shown, "\uFFFD")
	require.LessOrEqual(t, len(shown), maxMatchBytes+2*len("…"))
	text := strings.Repeat("n", maxTextBytes)
	dir = tree(t, map[string]string{"f": "x" + text + "x"})
	require.Len(t, ok[findReply](t, dir, ToolFindText, args{"text": text}).Matches, 1)
}

func TestASearchEndsAtItsBounds(t *testing.T) {
	dir := tree(t, map[string]string{"a": "needle\n", "b/c/f": "needle\n", "b/g": "needle\n", "z": "needle\n"})
	for _, test := range []struct {
		name   string
		limits searchLimits
		found  int
		note   string
	}{
		{"all", searchLimits{4, 6, 2, 28}, 4, ""},
		{"more than all", searchLimits{5, 7, 3, 29}, 4, ""},
		{"a folder", searchLimits{3, 6, 2, 28}, 4, ""},
		{"a folder less", searchLimits{2, 6, 2, 28}, 3, "a folder has more than 2 entries"},
		{"entries", searchLimits{4, 5, 2, 28}, 3, "more than 5 files and folders"},
		{"depth", searchLimits{4, 6, 1, 28}, 3, "more than 1 deep"},
		{"bytes", searchLimits{4, 6, 2, 27}, 3, "more than 27 bytes"},
	} {
		w, toolErr := New(Config{}).openWorkspace(dir)
		require.Nil(t, toolErr)
		raw, toolErr := searchFor(t.Context(), w, arguments{text: "needle"}, test.limits)
		require.Nil(t, toolErr)
		w.close()
		var r findReply
		require.NoError(t, json.Unmarshal(raw, &r))
		require.Len(t, r.Matches, test.found, test.name)
		require.Equal(t, test.note != "", r.Truncated, test.name)
		require.Contains(t, r.Note, test.note)
	}
	require.Equal(t, searchLimits{10000, 50000, 64, 256 << 20}, defaultSearch, "as documented")
}
