package nativeinspect

import "encoding/hex"

// Digest is the SHA-256 of a file.
type Digest [32]byte

// String returns the digest as 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Role is what a file is to the client.
type Role string

// The roles.
const (
	RoleExecutable  Role = "executable"
	RoleWrapped     Role = "wrapped"
	RoleInterpreter Role = "interpreter"
	RoleLibrary     Role = "library"
	RoleManifest    Role = "manifest"
	RoleTheme       Role = "theme"
	RoleHelper      Role = "helper"
)

// File is a file that a client needs, bound alone at its path. It is a value.
type File struct {
	Path       string // where the client looks for it: absolute, normalised
	Source     string // the regular file behind it; equal to Path unless a link leads there
	Role       Role
	Digest     Digest
	Size       int64
	Executable bool // has an execute bit
}

// Route is how an executable was found.
type Route string

// The routes.
const (
	RouteOverride Route = "override" // named by CODEX_PATH, CLAUDE_PATH, PI_PATH or JIG_BWRAP_PATH
	RoutePath     Route = "path"     // found on PATH
	RouteBundled  Route = "bundled"  // a helper of the installation itself
	RouteAdmitted Route = "admitted" // named by a Selection; nothing was searched
)

// Layout is what lies between the selected path and the native executable.
type Layout string

// The layouts.
const (
	LayoutDirect  Layout = "direct"
	LayoutNPM     Layout = "npm"
	LayoutVolta   Layout = "volta"
	LayoutWrapper Layout = "wrapper" // makeBinaryWrapper
)

// Installation is a client as it lies on this machine.
//
// It is immutable and safe for concurrent use as long as nobody writes to its
// fields.
type Installation struct {
	Client     Client
	Route      Route
	Layout     Layout
	Selected   string // the candidate as it was found or named, before links were followed
	Version    string // of the npm package; empty for other layouts than npm and Volta, except Pi
	Executable File   // what is launched
	Files      []File // what else is bound, by path; the helper's files too, not the helper
	PathPrefix []string
	Helper     *Helper // Codex on Linux; else nil
	Rejected   []Rejection

	links map[string]Link // by path: what brought each file
}

// Helper is the bubblewrap that Codex uses inside its own scope. It is a value.
type Helper struct {
	File
	Route Route // RoutePath or RouteBundled
	// Rejected are the candidates that the search for it passed over.
	Rejected []Rejection
}

// Folder returns the folder that the scope's PATH holds, so that Codex finds the
// helper. It is empty for the installation's own helper, which stays off PATH: Codex
// then checks it itself (seed: Native client profiles).
func (h *Helper) Folder() string {
	if h.Route != RoutePath {
		return ""
	}
	return dirOf(h.Path)
}

// Selection names an installation that was approved, so that [Open] finds it again
// without a search. It is a value.
type Selection struct {
	Client      Client
	Executable  string // absolute
	Helper      string // absolute; empty without helper
	HelperRoute Route
}

// Selection returns what [Open] needs to find the installation again.
func (i *Installation) Selection() Selection {
	s := Selection{Client: i.Client, Executable: i.Executable.Path}
	if i.Helper != nil {
		s.Helper, s.HelperRoute = i.Helper.Path, i.Helper.Route
	}
	return s
}
