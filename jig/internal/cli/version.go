package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/project"
)

func (a *app) versionCommand(end func(ending)) *cobra.Command {
	return a.command("version", "Say which jig this is", noArguments, func(context.Context, []string) ending {
		v := version()
		return ending{
			record: record{"status": statusSucceeded, "version": v, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "diagnostics": []project.Diagnostic{}},
			human:  "jig " + v + " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n",
		}
	}, end)
}

// version is the version that the program was built as.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
