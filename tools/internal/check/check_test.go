package check

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each tree in testdata/bad is the good tree with one kind of fault; the check
// that it names must refuse it, for the reasons that it gives and no others.
func TestChecksRefuseBadTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txtar")
	require.NoError(t, err)
	refused := map[string]bool{}
	for _, file := range files {
		b := readBad(t, file)
		refused[b.check] = true
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			env, out := fixture(t, b.files...)
			defer env.rehearsed.close()
			_, err := named(t, b.check).Run(t.Context(), env)
			require.Error(t, err)
			for _, want := range b.want {
				require.Contains(t, err.Error(), want)
			}
			for _, want := range b.printed {
				require.Contains(t, out.String(), want)
			}
			var problems Problems
			if errors.As(err, &problems) && !strings.Contains(problems.Error(), "exit status") {
				ours := slices.DeleteFunc(problems, advice)
				require.Len(t, ours, len(b.want), err.Error())
			}
		})
	}
	for _, c := range All() {
		require.True(t, refused[c.Name], "no tree in testdata/bad is refused by %s", c.Name)
	}
}

// advice says whether a line tells how to mend, or shows what a tool printed.
func advice(problem string) bool {
	return strings.HasPrefix(problem, "go run ") || strings.HasPrefix(problem, "go fix ")
}

func named(t *testing.T, name string) Check {
	t.Helper()
	chosen, err := Select(All(), name, "")
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	return chosen[0]
}

func TestEveryCheckPassesTheGoodTreeOnceItsPagesAreWritten(t *testing.T) {
	env, out := fixture(t)
	env.Write = true
	require.Empty(t, Run(t.Context(), env, without(t, "test,bench,darwin")), out.String())

	again := &Env{Work: env.Work, Out: out, Except: env.Except}
	require.Empty(t, Run(t.Context(), again, All()), out.String())
	counts, ok := again.Counts()
	require.True(t, ok)
	require.Equal(t, Counts{Packages: 4, Passed: 4}, counts) // the fuzz seed is a subtest
	require.Contains(t, out.String(), "ok   rules")
	require.Contains(t, out.String(), "issue 1: 2 of 2, issue 2: 0 of 1, issue later: 0 of 1")
}

func TestWriteMendsWhatItCan(t *testing.T) {
	for _, name := range []string{"gofmt", "fix", "tidy", "rules-stale-page"} {
		t.Run(name, func(t *testing.T) {
			b := readBad(t, "testdata/bad/"+name+".txtar")
			env, _ := fixture(t, b.files...)
			env.Write = true
			c := named(t, b.check)
			_, err := c.Run(t.Context(), env)
			env.rehearsed.close()
			require.NoError(t, err)
			again := &Env{Work: env.Work, Out: env.Out, Except: env.Except}
			defer again.rehearsed.close()
			_, err = c.Run(t.Context(), again)
			require.NoError(t, err)
		})
	}
}

func without(t *testing.T, skip string) []Check {
	t.Helper()
	chosen, err := Select(All(), "", skip)
	require.NoError(t, err)
	return chosen
}

func TestSelect(t *testing.T) {
	names := func(checks []Check) (names []string) {
		for _, c := range checks {
			names = append(names, c.Name)
		}
		return names
	}
	some, err := Select(All(), "vet,gofmt", "")
	require.NoError(t, err)
	require.Equal(t, []string{"gofmt", "vet"}, names(some), "in the order of a whole run")
	some, err = Select(All(), "vet,gofmt", "vet")
	require.NoError(t, err)
	require.Equal(t, []string{"gofmt"}, names(some))
	require.Equal(t, "test", All()[len(All())-1].Name, "the tests come last")
	for _, wrong := range []string{"vett", "vet,", "vet, gofmt"} {
		_, err = Select(All(), wrong, "")
		require.ErrorContains(t, err, "the checks are gofmt, length")
		_, err = Select(All(), "", wrong)
		require.ErrorContains(t, err, "no check is called")
	}
}

func TestRunPrintsALineForEachCheckAndItsProblemsBelow(t *testing.T) {
	var out bytes.Buffer
	checks := []Check{
		{"fine", "", true, func(context.Context, *Env) (string, error) { return "a note", nil }},
		{"bad", "", true, func(context.Context, *Env) (string, error) { return "", Problems{"x.go: one", "y.go: two"} }},
		{"light", "", false, func(context.Context, *Env) (string, error) { return "", nil }},
	}
	failed := Run(t.Context(), &Env{Out: &out}, checks)
	require.Equal(t, []string{"bad"}, failed)
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 6)
	require.Regexp(t, `^ok   light +0\.0s$`, lines[0])
	require.Regexp(t, `^ok   fine +0\.0s  a note$`, lines[1])
	require.Regexp(t, `^FAIL bad +0\.0s$`, lines[2])
	require.Equal(t, "     x.go: one", lines[3])
	require.Equal(t, "     y.go: two", lines[4])
}

func TestExceptionsAreRefusedWhenTheyCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"length\tx.go\n":                       "exceptions.tsv:1: want check, file and reason",
		"# c\nlength\tx.go\t \n":               "exceptions.tsv:2: want check, file and reason",
		"size\tx.go\tbig\n":                    `exceptions.tsv:1: no check is called "size"`,
		"todo\tx.go\ta\n\ntodo\tx.go\tb\n":     "exceptions.tsv:3: already in line 1",
		"length\tx.go\ta reason\tand a tail\n": "exceptions.tsv:1: want check, file and reason",
	} {
		_, err := parseExceptions(text, All())
		require.ErrorContains(t, err, want, text)
	}
	x, err := parseExceptions("todo\tx.go\ta reason\n", All())
	require.NoError(t, err)
	require.Len(t, x.stale("todo"), 1)
	require.Empty(t, x.stale("length"))
	require.False(t, x.excuse("todo", "y.go"))
	require.True(t, x.excuse("todo", "x.go"))
	require.Empty(t, x.stale("todo"))
}
