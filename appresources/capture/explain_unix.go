//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package capture

import "golang.org/x/sys/unix"

// explain finds the rule behind a failed open or stat of name in parent. The
// errno alone does not tell: systems disagree on what a link gives.
func explain(parent int, name string, err error) error {
	switch err {
	case unix.ENOENT, unix.ENAMETOOLONG:
		return &Error{Rule: RuleMissing, cause: err}
	case unix.ELOOP, unix.EXDEV:
		return &Error{Rule: RuleLink, cause: err}
	case unix.EAGAIN:
		return &Error{Rule: RuleChanged, cause: err}
	}
	var st unix.Stat_t
	if unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		switch {
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			return &Error{Rule: RuleLink, cause: err}
		case err == unix.ENOTDIR && st.Mode&unix.S_IFMT == unix.S_IFDIR:
			return &Error{Rule: RuleChanged, cause: err} // it was none a moment ago
		case err == unix.ENOTDIR:
			return &Error{Rule: RuleFolder, cause: err}
		}
	}
	return busyOr(RuleUnreadable, err)
}

// busyOr tells a system that is out of descriptors or memory from a file that
// breaks a rule.
func busyOr(rule Rule, err error) error {
	switch err {
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS:
		rule = RuleUnavailable
	}
	return &Error{Rule: rule, cause: err}
}
