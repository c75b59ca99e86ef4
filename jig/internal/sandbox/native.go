package sandbox

import "slices"

// NativeHomeBytes bounds the home, the work folder and /codex of a native scope,
// each of them.
const NativeHomeBytes = 256 << 20

// AdapterCommand is the first argument of the jig binary as the adapter of a
// native client, and AdapterPath where a native scope has that binary.
const (
	AdapterCommand = "__adapter"
	AdapterPath    = "/agent/jig"
)

// Native is what a native scope holds beside what every one does.
type Native struct {
	Binds        []Bind  // the jig binary at AdapterPath, the client, its libraries and support files
	Tmpfs        []Tmpfs // beside /tmp, /home/agent and /work
	Data         []Data  // files below /etc
	NestedUserns bool    // the client runs a bubblewrap of its own
}

// NativeSpec is the scope of a native client: the jig binary as its adapter, an
// empty work folder, an empty home and /tmp in memory, the network of the host,
// and what n names (jig.md 6, 7). The client gets its environment from the
// adapter; the scope's own one holds nothing of it.
func NativeSpec(n Native) Spec {
	own := []Tmpfs{{"/tmp", NativeTmpBytes}, {"/home/agent", NativeHomeBytes}, {"/work", NativeHomeBytes}}
	own = slices.DeleteFunc(own, func(t Tmpfs) bool {
		return slices.ContainsFunc(n.Tmpfs, func(other Tmpfs) bool { return other.Dest == t.Dest })
	})
	return Spec{
		Network: true, NestedUserns: n.NestedUserns, Init: true,
		Binds: n.Binds, Tmpfs: append(own, n.Tmpfs...), Data: n.Data,
		Env: []string{"HOME=/home/agent", "TMPDIR=/tmp", "LANG=C.UTF-8", "PATH=/nonexistent"},
		Dir: "/work", Command: []string{AdapterPath, AdapterCommand},
		Limits: Limits{MemoryBytes: NativeMemoryBytes, Tasks: NativeTasks},
	}
}
