package state

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule: J-110
func TestNobodyElseOpensTheDatabase(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "github.com/magi-jig/magi-jig/jig/...").Output()
	require.NoError(t, err)
	var with []string
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(" "+imports+" ", " go.etcd.io/bbolt ") {
			with = append(with, name)
		}
	}
	require.Equal(t, []string{"github.com/magi-jig/magi-jig/jig/internal/state"}, with)
}
