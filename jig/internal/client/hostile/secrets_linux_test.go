package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// rule: J-157, J-162, J-190, J-194
// complaint: B5.47 vybestack/llxprt-code#3573 - a secret that was kept from a child is readable in its parent
func TestComplaintB5_47Llxprt3573AToolFindsNoSecretOfTheAdapter(t *testing.T) {
	for client, known := range map[string][]string{
		"codex":  nil, // it is handed over in memory alone
		"claude": {"secret in /proc/self/environ"},
		"pi":     {"/auth.json"},
	} {
		t.Run(client, func(t *testing.T) {
			p := open(t, client, "snoop")
			_, answer, err := p.Prompt("hello")
			require.NoError(t, err)
			var found []string
			for line := range strings.SplitSeq(answer, "\n") {
				if !strings.HasPrefix(line, "refused ") {
					found = append(found, line)
				}
			}
			for _, what := range []string{"environ", "mem", "maps", "fd"} {
				require.Contains(t, answer, "refused "+what, "of the adapter")
			}
			require.Len(t, found, len(known), "%s", answer)
			for i, where := range known {
				require.True(t, strings.HasPrefix(found[i], "secret in ") && strings.HasSuffix(found[i], where) || found[i] == where, "%s", answer)
			}
		})
	}
}

// keyrings tells what the kernel answers to each call about keyrings.
func keyrings() string {
	_, read := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	_, sought := unix.RequestKey("user", "jig-test", "", 0)
	_, added := unix.AddKey("user", "jig-test", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING)
	return fmt.Sprintf("%v, %v, %v", read, sought, added)
}

// Whatever starts jig may have put a login or a ticket into its session keyring, which
// all of its descendants inherit.
func TestAClientHasNoKeyringOfTheOperators(t *testing.T) {
	p := open(t, "codex", "keyrings")
	_, answer, err := p.Prompt("hello")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%[1]v, %[1]v, %[1]v", unix.ENOSYS), answer)
}
