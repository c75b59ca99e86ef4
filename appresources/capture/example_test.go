//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/magi-jig/magi-jig/appresources/capture"
)

func ExampleRead() {
	workspace, err := os.MkdirTemp("", "capture")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(workspace)
	if err := os.WriteFile(filepath.Join(workspace, "style.md"), []byte("Be brief."), 0o600); err != nil {
		panic(err)
	}
	if err := os.Symlink("style.md", filepath.Join(workspace, "link.md")); err != nil {
		panic(err)
	}
	for _, path := range []string{"style.md", "link.md", "../style.md", ".env"} {
		text, err := capture.Read(capture.Request{Workspace: workspace, Path: path, MaxBytes: 16384})
		var refusal *capture.Error
		if errors.As(err, &refusal) {
			fmt.Println("refused:", refusal.Rule)
			continue
		}
		fmt.Printf("%s\n", text)
	}
	// Output:
	// Be brief.
	// refused: no component of the path may be a symbolic link
	// refused: the path must be relative, with neither empty nor dot components
	// refused: the path looks like credentials
}
