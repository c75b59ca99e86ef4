package nativeinspect

import (
	"context"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// environment is what was copied of the operator's environment before the first
// access to a file.
type environment map[string]string

func snapshot(lookup func(string) (string, bool), names ...string) environment {
	e := environment{}
	for _, name := range names {
		if value, set := lookup(name); set {
			e[name] = strings.Clone(value)
		}
	}
	return e
}

// candidate is a path that a search or an override selected.
type candidate struct {
	route    Route
	selected string // as it was found or named
	real     string // without links
	rejected []Rejection
}

// override takes the file that a variable names. The project does not matter here
// (finite-acp 5a), and there is no other candidate.
func override(path string, outside *exclusion) (candidate, error) {
	c := candidate{route: RouteOverride, selected: path}
	if !validPath(path) {
		return c, because(ReasonNotAbsolute)
	}
	var err error
	c.real, err = usable(path, outside)
	return c, err
}

// usable resolves a path and checks that it is a regular file that may be executed.
func usable(path string, outside *exclusion) (string, error) {
	real, err := resolve(path, outside)
	if err != nil {
		return "", err
	}
	st, err := lstat(real)
	switch {
	case err != nil:
		return "", err
	case st.folder():
		return "", because(ReasonIsDirectory)
	case !st.regular():
		return "", because(ReasonNotRegular)
	case !st.executable():
		return "", because(ReasonNotExecutable)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, real, unix.X_OK, unix.AT_EACCESS); err != nil {
		if reasonOf(err) == ReasonPermission {
			return "", because(ReasonNotExecutable)
		}
		return "", err
	}
	return real, nil
}

// search returns the first eligible file of a name in the entries of PATH, with the
// reason for each candidate before it. A candidate with an empty real path means
// that there is none.
func search(ctx context.Context, entries []string, name string, outside *exclusion) (candidate, error) {
	c := candidate{route: RoutePath}
	for i, entry := range entries {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		reject := func(path string, reason Reason, through string) {
			c.rejected = append(c.rejected, Rejection{Entry: i, Path: path, Reason: reason, Through: through})
		}
		switch {
		case entry == "":
			reject(entry, ReasonEmptyEntry, "")
			continue
		case strings.ContainsRune(entry, 0):
			reject(strings.ReplaceAll(entry, "\x00", "?"), ReasonNUL, "")
			continue
		case !filepath.IsAbs(entry):
			reject(entry, ReasonNotAbsolute, "")
			continue
		}
		path := strings.TrimRight(entry, "/") + "/" + name
		real, err := usable(path, outside)
		if err == nil {
			c.selected, c.real = path, real
			return c, nil
		}
		switch reason := reasonOf(err); reason {
		case ReasonInsideProject:
			reject(path, reason, throughOf(err))
		case ReasonDoesNotExist, ReasonNotDirectory, ReasonPermission, ReasonIsDirectory, ReasonNotRegular, ReasonNotExecutable:
			reject(path, reason, "")
		default:
			return c, &fault{reason: reason, stage: StageUnavailable, subject: path, cause: err}
		}
	}
	return c, nil
}

func throughOf(err error) string {
	if x, ok := err.(*excluded); ok {
		return x.through
	}
	return ""
}

// entriesOf splits PATH. An unset PATH has no entry.
func entriesOf(env environment, limit int) ([]string, error) {
	path, set := env[pathVariable]
	if !set {
		return nil, nil
	}
	if strings.Count(path, ":") >= limit {
		return nil, because(ReasonTooManyEntries)
	}
	return strings.Split(path, ":"), nil
}

// validPath reports whether a text can be an absolute path at all.
func validPath(path string) bool {
	return filepath.IsAbs(path) && !strings.ContainsRune(path, 0)
}
