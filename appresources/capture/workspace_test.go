//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// eachWay runs a case with every way of opening that the system offers.
func eachWay(t *testing.T, run func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) { run(t, w) })
	}
}

// folder makes a workspace with the given files; a name that ends in a slash is
// a folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		full := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(full, 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o700))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
	}
	return root
}

// requireRule checks that err refuses for exactly this rule and shows nothing
// of the names involved.
func requireRule(t *testing.T, want Rule, err error, names ...string) {
	t.Helper()
	var refusal *Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, want, refusal.Rule)
	require.Equal(t, string(want), err.Error())
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		for _, n := range names {
			require.NotContains(t, cause.Error(), n)
		}
	}
}
