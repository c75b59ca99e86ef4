package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ProbeCommand is the first argument of the jig binary that a probe runs in a
// scope. It writes [ProbeAnswer] and ends.
const (
	ProbeCommand = "__probe"
	ProbeAnswer  = "jig-probe"
)

// Probed is what a probe of one kind of scope found.
type Probed struct {
	Scope  string // flow or native
	OK     bool
	Reason string // why not; one line
	Fix    string // the one command or step that helps; may be empty
}

// Report is what the doctor says about scopes on this machine.
type Report struct {
	Bwrap    string     // its path; empty where none was found
	Version  string     // of bubblewrap
	Rejected []Rejected // candidates that were not taken
	Bounds   string     // cgroup, rlimit, or empty where no launcher could be made
	Scopes   []Probed   // one for each kind
}

// OK says that scopes of both kinds work.
func (r *Report) OK() bool {
	for _, s := range r.Scopes {
		if !s.OK {
			return false
		}
	}
	return len(r.Scopes) > 0
}

// probeTimeout bounds one probe.
const probeTimeout = 15 * time.Second

// Probe starts a real scope of each kind with its real flags. jig is the program
// that runs inside with args; it has to write [ProbeAnswer].
func Probe(ctx context.Context, l *Launcher, jig string, args ...string) []Probed {
	flow, native := probeSpecs(jig, args)
	return []Probed{probe(ctx, l, "flow", flow), probe(ctx, l, "native", native)}
}

// probeSpecs are the scopes of a Flow and of the client that asks for most, with
// a file in memory and a home of its own, as they are started for a run.
func probeSpecs(jig string, args []string) (flow, native Spec) {
	native = NativeSpec(Native{
		Binds: []Bind{{jig, AdapterPath}}, Tmpfs: []Tmpfs{{"/codex", NativeHomeBytes}},
		Data: []Data{{"/etc/hosts", []byte("127.0.0.1 localhost\n")}}, NestedUserns: true,
	})
	native.Command = append([]string{AdapterPath}, args...)
	return FlowSpec(jig, "", args...), native
}

func probe(ctx context.Context, l *Launcher, scope string, s Spec) Probed {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	said, err := answer(ctx, l, s)
	var unusable *UnavailableError
	switch {
	case errors.As(err, &unusable):
		return Probed{Scope: scope, Reason: unusable.Reason, Fix: unusable.Fix}
	case err != nil:
		return Probed{Scope: scope, Reason: err.Error()}
	case strings.TrimSpace(said) != ProbeAnswer:
		return Probed{Scope: scope, Reason: "the program in the scope did not answer as it should"}
	}
	return Probed{Scope: scope, OK: true}
}

func answer(ctx context.Context, l *Launcher, s Spec) (string, error) {
	p, err := l.Start(ctx, s)
	if err != nil {
		return "", err
	}
	defer p.Close()
	p.Stdin.Close()
	go io.Copy(io.Discard, p.Stderr)
	said, _ := io.ReadAll(io.LimitReader(p.Stdout, 1024))
	if _, err := p.Wait(ctx); err != nil {
		return "", err
	}
	return string(said), nil
}

// MinVersion is the oldest bubblewrap that will do.
const MinVersion = "0.8.0"

var versionText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^bubblewrap (\d+)\.(\d+)\.(\d+)`) })

// Version asks bubblewrap for its version and refuses one that is too old.
func Version(ctx context.Context, bwrap string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bwrap, "--version")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return "", &UnavailableError{Reason: "asked for its version, it failed", Fix: "install bubblewrap " + MinVersion + " or later"}
	}
	return checkVersion(string(out))
}

func checkVersion(said string) (string, error) {
	m := versionText().FindStringSubmatch(said)
	if m == nil {
		return "", &UnavailableError{Reason: "it is not bubblewrap", Fix: "install bubblewrap " + MinVersion + " or later"}
	}
	version := strings.Join(m[1:], ".")
	number := 0
	for _, part := range m[1:] {
		n, err := strconv.Atoi(part)
		if err != nil || n > 9999 {
			n = 9999
		}
		number = number*10000 + n
	}
	if number < 8*10000 {
		return version, &UnavailableError{
			Reason: fmt.Sprintf("version %s is too old", version),
			Fix:    "install bubblewrap " + MinVersion + " or later",
		}
	}
	return version, nil
}
