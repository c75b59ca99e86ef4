package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// unavailable turns bubblewrap's complaint into a sentence and a fix for a
// person. cause is kept out of the text: it may name host paths.
func unavailable(complaint string, cause error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(complaint, "bwrap: "), "jig: ")
	if text == "" {
		text = cause.Error()
	}
	return advise(text, hostFacts())
}

// notStarted is a scope of which not even the first process came about.
func notStarted(err error, root bool) error {
	var errno syscall.Errno
	e := &UnavailableError{Reason: "it did not start"}
	if errors.As(err, &errno) {
		e.Reason += ": " + errno.Error()
	}
	if root && errno == syscall.EPERM {
		e.Reason = "as root jig needs a private mount namespace, and may not make one (" + errno.Error() + ")"
		e.Fix = "run jig as an ordinary user, or as a root that may make mount namespaces"
	}
	return e
}

// facts are what of this machine explains a complaint of bubblewrap.
type facts struct {
	appArmor    bool // AppArmor keeps unprivileged programs from user namespaces
	noClone     bool // Debian's switch forbids user namespaces
	noUserns    bool // no user namespace may be made
	inContainer bool
	wsl         bool
}

func hostFacts() facts {
	return facts{
		appArmor:    sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1",
		noClone:     sysctl("/proc/sys/kernel/unprivileged_userns_clone") == "0",
		noUserns:    sysctl("/proc/sys/user/max_user_namespaces") == "0",
		inContainer: inContainer(),
		wsl:         wsl(),
	}
}

// advise explains text, what bubblewrap or the stage said, by the facts. It names
// one thing to do.
func advise(text string, f facts) *UnavailableError {
	e := &UnavailableError{Reason: text}
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "unknown option"):
		e.Fix = "install bubblewrap 0.8.0 or later"
	case strings.HasPrefix(low, "stage: "):
		e.Fix = "run jig as an ordinary user, or as a root that may make mount namespaces"
	case f.inContainer && (strings.Contains(low, "mount proc") || strings.Contains(low, "/proc")):
		e.Reason = "the container jig runs in masks /proc (" + text + ")"
		e.Fix = "start the container with --security-opt systempaths=unconfined, or run jig outside it"
	case strings.Contains(low, "uid map") || strings.Contains(low, "gid map") || strings.Contains(low, "rtm_newaddr") || strings.Contains(low, "loopback"):
		if f.appArmor {
			return appArmor(text)
		}
		if f.inContainer {
			return container(text)
		}
		e.Fix = "jig may already be inside a sandbox; run it outside"
	case strings.Contains(low, "no permissions to create") || strings.Contains(low, "creating new namespace failed") || strings.Contains(low, "operation not permitted"):
		switch {
		case f.noClone:
			e.Fix = "run: sysctl -w kernel.unprivileged_userns_clone=1"
		case f.noUserns:
			e.Fix = "run: sysctl -w user.max_user_namespaces=15000"
		case f.inContainer:
			return container(text)
		case f.appArmor:
			return appArmor(text)
		case f.wsl:
			e.Reason = "this is WSL without user namespaces (" + text + ")"
			e.Fix = "use WSL 2; in Windows, run: wsl --set-version DISTRIBUTION 2"
		default:
			e.Fix = "jig may already be inside a sandbox; run it outside"
		}
	}
	return e
}

func appArmor(text string) *UnavailableError {
	return &UnavailableError{
		Reason: "AppArmor keeps unprivileged programs from using user namespaces (" + text + ")",
		Fix:    "install an AppArmor profile that lets bwrap use userns, or run: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
	}
}

func container(text string) *UnavailableError {
	return &UnavailableError{
		Reason: "the container jig runs in forbids new namespaces (" + text + ")",
		Fix:    "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or run jig outside it",
	}
}

func sysctl(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func inContainer() bool {
	for _, p := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(p); err == nil {
			return true
		}
	}
	return false
}

func wsl() bool { return strings.Contains(strings.ToLower(sysctl("/proc/version")), "microsoft") }
