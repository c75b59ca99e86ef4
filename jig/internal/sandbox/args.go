package sandbox

import (
	"fmt"
	"strconv"
	"strings"
)

// layout is where the descriptors of a start stand: the command's own come
// first, because they keep their numbers.
type layout struct {
	data   []int // one a Spec.Data
	args   int
	status int
	sync   int // 0 where there is none
}

// arguments are bubblewrap's options for s, to be handed over NUL-separated.
// sources stand in for the paths of s.Binds, in order (the stage rebinds them).
func arguments(s *Spec, sources []string, at layout) ([]string, error) {
	a := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
		"--cap-drop", "ALL", "--new-session", "--die-with-parent", "--hostname", "jig",
	}
	if !s.Network {
		a = append(a, "--unshare-net")
	}
	if !s.NestedUserns {
		a = append(a, "--disable-userns")
	}
	if s.Init {
		a = append(a, "--as-pid-1")
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev")
	for _, t := range s.Tmpfs {
		a = append(a, "--size", strconv.FormatInt(t.Bytes, 10), "--tmpfs", t.Dest)
	}
	for i, b := range s.Binds {
		a = append(a, "--ro-bind", sources[i], b.Dest)
	}
	for i, d := range s.Data {
		a = append(a, "--ro-bind-data", strconv.Itoa(at.data[i]), d.Dest)
	}
	// The root and /dev are memory without a size of their own: closing them
	// keeps a program from filling the host's memory through them.
	a = append(a, "--remount-ro", "/dev", "--remount-ro", "/", "--clearenv")
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		a = append(a, "--setenv", name, value)
	}
	a = append(a, "--chdir", s.Dir, "--json-status-fd", strconv.Itoa(at.status))
	if at.sync != 0 {
		a = append(a, "--sync-fd", strconv.Itoa(at.sync))
	}
	if len(a) >= MaxArguments {
		return nil, fmt.Errorf("sandbox: a scope of %d bubblewrap arguments is above the limit of %d", len(a), MaxArguments-1)
	}
	return a, nil
}
