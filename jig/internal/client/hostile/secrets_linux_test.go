package hostile

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

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
	const sessionKeyring = ^uintptr(2) // -3
	kind, name := []byte("user\x00"), []byte("jig-test\x00")
	at := func(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
	_, _, read := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, sessionKeyring, 0)
	_, _, sought := unix.Syscall6(unix.SYS_REQUEST_KEY, at(kind), at(name), 0, 0, 0, 0)
	_, _, added := unix.Syscall6(unix.SYS_ADD_KEY, at(kind), at(name), at(name), 1, sessionKeyring, 0)
	return fmt.Sprintf("%d %d %d", read, sought, added)
}

// Whatever starts jig may have put a login or a ticket into its session keyring, which
// all of its descendants inherit.
func TestAClientHasNoKeyringOfTheOperators(t *testing.T) {
	p := open(t, "codex", "keyrings")
	_, answer, err := p.Prompt("hello")
	require.NoError(t, err)
	no := int(unix.ENOSYS)
	require.Equal(t, fmt.Sprintf("%d %d %d", no, no, no), answer)
}
