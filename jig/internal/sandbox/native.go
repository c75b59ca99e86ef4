package sandbox

// NativeHomeBytes bounds the home, the work folder and /codex of a native scope,
// each of them.
const NativeHomeBytes = 256 << 20

// AdapterCommand is the first argument of the jig binary as the adapter of a
// native client.
const AdapterCommand = "__adapter"

// Native is what a native scope holds beside what every one does.
type Native struct {
	Binds        []Bind  // the client, its libraries and support files
	Tmpfs        []Tmpfs // beside /tmp, /home/agent and /work
	Data         []Data  // files below /etc
	NestedUserns bool    // the client runs a bubblewrap of its own
}

// NativeSpec is the scope of a native client: the jig binary at /agent/jig as its
// adapter, an empty work folder, an empty home and /tmp in memory, the network of
// the host, and what n names (jig.md 6, 7). The client gets its environment from
// the adapter; the scope's own one holds nothing of it.
func NativeSpec(jig string, n Native) Spec {
	return Spec{
		Network: true, NestedUserns: n.NestedUserns,
		Binds: append([]Bind{{jig, "/agent/jig"}}, n.Binds...),
		Tmpfs: append([]Tmpfs{{"/tmp", NativeTmpBytes}, {"/home/agent", NativeHomeBytes}, {"/work", NativeHomeBytes}}, n.Tmpfs...),
		Data:  n.Data,
		Env:   []string{"HOME=/home/agent", "TMPDIR=/tmp", "LANG=C.UTF-8", "PATH=/nonexistent"},
		Dir:   "/work", Command: []string{"/agent/jig", AdapterCommand},
		Limits: Limits{MemoryBytes: NativeMemoryBytes, Tasks: NativeTasks},
	}
}
