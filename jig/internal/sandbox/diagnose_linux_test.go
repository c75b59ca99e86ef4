package sandbox

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/advice.txt
var advice string

// golden are complaints of bubblewrap, as it makes them on machines that no test has.
var golden = []struct {
	machine   string
	complaint string
	facts     facts
}{
	{"Ubuntu with AppArmor, network unshared", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", facts{appArmor: true}},
	{"Ubuntu with AppArmor, network shared", "bwrap: setting up uid map: Permission denied", facts{appArmor: true}},
	{"Docker as it comes", "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.", facts{inContainer: true}},
	{"Docker without its seccomp profile", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", facts{inContainer: true}},
	{"Docker with a read-only uid map", "bwrap: setting up uid map: Permission denied", facts{inContainer: true}},
	{"Debian with user namespaces off", "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.", facts{noClone: true}},
	{"a limit of zero namespaces", "bwrap: Creating new namespace failed: No space left on device", facts{noUserns: true}},
	{"WSL 1", "bwrap: Creating new namespace failed: Invalid argument", facts{wsl: true}},
	{"another sandbox", "bwrap: Creating new namespace failed: Operation not permitted", facts{}},
	{"another sandbox with a user namespace", "bwrap: setting up uid map: Operation not permitted", facts{}},
	{"an old bubblewrap", "bwrap: Unknown option --disable-userns", facts{}},
	{"root without mounts", "jig: stage: private mounts: operation not permitted", facts{}},
}

// complaint: B3.28 openai/codex#15057 - on Ubuntu the sandbox starts and then fails with a line about loopback that helps nobody
// complaint: B3.29 anthropic-experimental/sandbox-runtime#180 - in a container the sandbox fails and nothing says what is missing
func TestComplaintB3_28Codex15057AndB3_29SandboxRuntime180EveryMachineGetsItsOneFix(t *testing.T) {
	var b strings.Builder
	for _, g := range golden {
		text := strings.TrimPrefix(strings.TrimPrefix(g.complaint, "bwrap: "), "jig: ")
		e := advise(text, g.facts)
		require.NotEmpty(t, e.Fix, g.machine)
		require.NotContains(t, e.Fix, "\n")
		fmt.Fprintf(&b, "# %s\n%s\n  %s\n\n", g.machine, e.Reason, e.Fix)
	}
	require.Equal(t, advice, b.String())
}
