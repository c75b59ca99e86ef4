package cli

import (
	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/review"
	"github.com/magi-jig/magi-jig/jig/internal/state"
)

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
