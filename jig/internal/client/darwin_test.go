package client

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

var long = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")

// What runs on Linux alone compiles for a Mac too. In short this package alone is
// looked at, in long everything that starts a client.
//
// rule: J-237
func TestTheProfilesAndTheLaunchCompileForAMac(t *testing.T) {
	packages := []string{"."}
	if *long {
		packages = []string{"./...", "../acp", "../sandbox", "../cli", "../.."}
	}
	cmd := exec.Command("go", append([]string{"vet"}, packages...)...)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// rule: J-238
func TestTheDocumentationSaysThatNoMacRunWasMade(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.Contains(t, string(b), "No run on macOS has been made")
}
