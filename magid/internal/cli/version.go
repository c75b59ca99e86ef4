package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return a.withJSON(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			object := struct {
				Version string `json:"version"`
				Wire    int    `json:"wire"`
				Go      string `json:"go"`
			}{version(), 2, runtime.Version()}
			return a.result(object, func() {
				a.say("magid %s (wire v2, %s, %s/%s)", object.Version, object.Go, runtime.GOOS, runtime.GOARCH)
			})
		},
	})
}
