package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

func (a *app) inspectCommand(end func(ending)) *cobra.Command {
	var why string
	c := a.command("inspect CLIENT", "Say which native client would be launched, and why", exactly(1, "codex, claude or pi"), func(_ context.Context, args []string) ending {
		if !isClient(args[0]) {
			return a.refused(refuse(codeUsage, "a client is codex, claude or pi"))
		}
		return a.refused(refuse(codeInspection, "native clients are not offered yet: this version of jig cannot examine them"))
	}, end)
	word(c.Flags(), &why, "why", "say why this file is one of the client's")
	return c
}

func (a *app) sessionsCommand(end func(ending)) *cobra.Command {
	refused := func(context.Context, []string) ending {
		return a.refused(refuse(codeFeature, "retained sessions are not offered yet"))
	}
	c := a.command("sessions", "List the retained sessions", noArguments, refused, end)
	all := false
	remove := a.command("delete [REF]", "Delete retained sessions", atMost(1), refused, end)
	flag(remove.Flags(), &all, "all", "delete every one")
	c.AddCommand(remove)
	return c
}

// completeTargets completes the name of a target from what was admitted. It
// evaluates nothing.
func (a *app) completeTargets(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := state.Open(a.dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	_ = d.View(func(t *state.Tx) error {
		admission, err := t.Admission()
		if err != nil {
			return err
		}
		content, err := review.ReadContent(admission)
		if err != nil || content == nil {
			return err
		}
		for _, target := range targetRecords(content.Meaning) {
			if target.Ready {
				names = append(names, escape(target.Target))
			}
		}
		return nil
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
