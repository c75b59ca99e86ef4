package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/magi-jig/magi-jig/jig/internal/retain"
	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

// completeTargets completes the name of a target from what was admitted. It
// evaluates nothing.
func (a *app) completeTargets(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(func(t *state.Tx) (names []string, err error) {
		admission, err := t.Admission()
		if err != nil {
			return nil, err
		}
		content, err := review.ReadContent(admission)
		if err != nil || content == nil {
			return nil, err
		}
		for _, target := range targetRecords(content.Meaning) {
			if target.Ready {
				names = append(names, escape(target.Target))
			}
		}
		return names, nil
	})
}

// completeRuns completes the id of a run, the newest first.
func (a *app) completeRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(func(t *state.Tx) (ids []string, err error) {
		runs, err := t.Runs()
		for _, r := range slices.Backward(runs) {
			ids = append(ids, r.ID)
		}
		return ids, err
	})
}

// completeSessions completes the reference of a retained session.
func (a *app) completeSessions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(func(t *state.Tx) (references []string, err error) {
		if err := t.Own(); err != nil {
			return nil, err
		}
		sessions, err := retain.List(t, time.Now())
		for _, s := range sessions {
			references = append(references, s.Reference)
		}
		return references, err
	})
}

// complete reads words from the state, which it leaves as it is. What cannot be read
// has none.
func (a *app) complete(read func(*state.Tx) ([]string, error)) (words []string, _ cobra.ShellCompDirective) {
	d, err := state.Open(a.dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = d.View(func(t *state.Tx) (err error) {
		words, err = read(t)
		return err
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completions completes the options that are one of a few words, and refuses a shell
// for which there are none.
func completions(root *cobra.Command, args []string) {
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if o, ok := f.Value.(*onceWord); ok && o.words != nil && c.Flags().Lookup(f.Name) == f {
				_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(o.words, cobra.ShellCompDirectiveNoFileComp))
			}
		})
		if c.Name() != "completion" {
			continue
		}
		var shells []string
		for _, shell := range c.Commands() {
			shells = append(shells, shell.Name())
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(_ *cobra.Command, args []string) error {
			r := refuse(codeUsage, "the name of a shell is needed")
			if len(args) > 0 {
				r.message = "there are no completions for the shell " + strconv.QuoteToASCII(args[0])
			}
			r.hint = "shells: " + strings.Join(shells, ", ")
			return r
		}
	}
}
