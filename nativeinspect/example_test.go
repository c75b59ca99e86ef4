package nativeinspect_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/magi-jig/magi-jig/nativeinspect"
)

func ExampleInspect() {
	env := map[string]string{"PATH": "bin:/nonexistent", "HOME": "/root"}
	_, err := nativeinspect.Inspect(context.Background(), nativeinspect.Options{
		Client:   nativeinspect.Codex,
		Platform: nativeinspect.LinuxX64,
		Project:  "/",
		Lookup:   func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	var refusal *nativeinspect.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal)
		fmt.Println(refusal.Correction())
		for _, r := range refusal.Rejected {
			fmt.Printf("%s: %s\n", r.Path, r.Reason)
		}
	}
	// Output:
	// codex: EXECUTABLE: no eligible executable was found on PATH
	// Install codex outside the project and put its folder on PATH, or set CODEX_PATH to its absolute path.
	// bin: the path is not absolute
	// /nonexistent/codex: it lies in the project or in a node_modules folder above it
}
