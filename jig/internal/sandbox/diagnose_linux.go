package sandbox

import (
	"os"
	"strings"
)

// unavailable turns bubblewrap's complaint into a sentence and a fix for a
// person. cause is kept out of the text: it may name host paths.
func unavailable(complaint string, cause error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(complaint, "bwrap: "), "jig: ")
	e := &UnavailableError{Reason: text}
	if text == "" {
		e.Reason = cause.Error()
	}
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "uid map") || strings.Contains(low, "gid map") || strings.Contains(low, "rtm_newaddr") || strings.Contains(low, "loopback"):
		if sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
			e.Reason = "AppArmor keeps unprivileged programs from using user namespaces (" + text + ")"
			e.Fix = "install an AppArmor profile that lets bwrap use userns, or run: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
			return e
		}
		e.Fix = "a user namespace was made but not usable; jig may already be inside a sandbox or container that forbids it"
	case strings.Contains(low, "no permissions to create") || strings.Contains(low, "creating new namespace failed") || strings.Contains(low, "operation not permitted"):
		switch {
		case sysctl("/proc/sys/kernel/unprivileged_userns_clone") == "0":
			e.Fix = "run: sysctl -w kernel.unprivileged_userns_clone=1"
		case sysctl("/proc/sys/user/max_user_namespaces") == "0":
			e.Fix = "run: sysctl -w user.max_user_namespaces=15000"
		case inContainer():
			e.Reason = "the container jig runs in forbids new namespaces (" + text + ")"
			e.Fix = "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or run jig outside it"
		case wsl():
			e.Fix = "this is WSL; it needs WSL 2 with user namespaces enabled"
		default:
			e.Fix = "jig may already be inside a sandbox that forbids new namespaces"
		}
	case strings.Contains(low, "mount proc") || strings.Contains(low, "/proc"):
		if inContainer() {
			e.Fix = "the container masks /proc; start it with --security-opt systempaths=unconfined"
		}
	case strings.Contains(low, "unknown option"):
		e.Fix = "bubblewrap 0.8.0 or later is needed"
	case strings.HasPrefix(low, "stage: "):
		e.Fix = "run jig as an ordinary user, or as a root that may make mount namespaces"
	}
	return e
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
