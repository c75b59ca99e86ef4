package nativeinspect

import (
	"errors"
	"strings"
)

// ErrConfig is a mistake in the arguments of a call, not a property of a client.
var ErrConfig = errors.New("nativeinspect: invalid arguments")

// Stage says which part of a client's setup failed. The list is closed.
type Stage string

// The stages. StageUnavailable is a failure of the machine, such as an I/O error,
// that says nothing about the client (seed: Native client profiles).
const (
	StageExecutable   Stage = "EXECUTABLE"
	StageInstallation Stage = "INSTALLATION"
	StageWrapper      Stage = "WRAPPER"
	StageSandbox      Stage = "SANDBOX"
	StageUnavailable  Stage = "UNAVAILABLE"
)

// Reason says what was wrong, as a closed phrase.
type Reason string

// Reasons of refusals.
const (
	ReasonNotFound        Reason = "no eligible executable was found on PATH"
	ReasonOverride        Reason = "the override is not an absolute path of an executable file"
	ReasonTooManyEntries  Reason = "PATH has too many entries"
	ReasonLayout          Reason = "the installation's layout is not supported"
	ReasonScript          Reason = "it is a script, not a native executable"
	ReasonShim            Reason = "it is the shim of a version manager, not a native executable"
	ReasonWrapperForm     Reason = "it is a wrapper of an unsupported form"
	ReasonNested          Reason = "a wrapped file or library is itself a wrapper"
	ReasonFormat          Reason = "it is not an executable of this platform"
	ReasonMalformed       Reason = "its headers are malformed"
	ReasonUnsupported     Reason = "it uses an unsupported feature of the loader"
	ReasonSearch          Reason = "a library search path is not an absolute, normalised path"
	ReasonMissing         Reason = "a file that it needs is missing"
	ReasonProject         Reason = "a file that it needs lies in the project or in a node_modules folder above it"
	ReasonProtected       Reason = "a file that it needs lies at a path that the sandbox keeps for itself"
	ReasonDestination     Reason = "a file that it needs has no absolute, normalised path"
	ReasonEncoding        Reason = "a file that it needs lies at a path that is not UTF-8"
	ReasonNotRegular      Reason = "it is not a regular file"
	ReasonNotExecutable   Reason = "it is not executable"
	ReasonSetID           Reason = "it is set-user-ID or set-group-ID"
	ReasonTooManyFiles    Reason = "it needs more than 128 files"
	ReasonTooLarge        Reason = "it is too large"
	ReasonConflict        Reason = "two files claim the same path"
	ReasonChanged         Reason = "it changed while it was read"
	ReasonUnreadable      Reason = "it cannot be read"
	ReasonTooManyLinks    Reason = "more than 40 symbolic links lead to it"
	ReasonManifest        Reason = "its package.json does not describe a supported version"
	ReasonNoHelper        Reason = "no bwrap was found on PATH or in the installation"
	ReasonSharedCache     Reason = "the system's library cache cannot be asked"
	ReasonSystem          Reason = "it needs a newer or another operating system"
	ReasonPlatform        Reason = "the client is not supported on this platform"
	ReasonNotAbsolute     Reason = "the path is not absolute"
	ReasonIsDirectory     Reason = "it is a folder"
	ReasonInsideProject   Reason = "it lies in the project or in a node_modules folder above it"
	ReasonDoesNotExist    Reason = "it does not exist"
	ReasonNotDirectory    Reason = "a part of its path is not a folder"
	ReasonPermission      Reason = "permission is denied"
	ReasonNUL             Reason = "the path contains a NUL byte"
	ReasonEmptyEntry      Reason = "the entry of PATH is empty"
	ReasonInputOutput     Reason = "the file system reported an error"
	ReasonNotCanonical    Reason = "a symbolic link leads to it where none may"
	ReasonOuterNotFound   Reason = "no eligible bwrap was found on PATH"
	ReasonOuterNotProgram Reason = "it is not an ELF program"
)

// Refusal says why a client, or a tool, cannot be had. Its text is for people; it
// holds no path and nothing of any file. The other fields are for whoever may see
// the operator's paths. A Refusal is immutable and safe for concurrent use.
type Refusal struct {
	Client   Client // empty for the outer bubblewrap
	Stage    Stage
	Reason   Reason
	Role     Role        // of the file concerned; empty when it is none in particular
	Subject  string      // path or library name concerned; may be empty, never a part of a file's text other than a library's name
	Through  []Link      // for a library: what led to it, from the executable on
	Manager  Manager     // of a shim; may be empty
	Rejected []Rejection // candidates that were passed over before

	cause error
}

// Error describes the refusal for people.
func (r *Refusal) Error() string {
	var b strings.Builder
	if r.Client != "" {
		b.WriteString(string(r.Client))
		b.WriteString(": ")
	}
	b.WriteString(string(r.Stage))
	b.WriteString(": ")
	if r.Role != "" {
		b.WriteString(string(r.Role))
		b.WriteString(": ")
	}
	b.WriteString(string(r.Reason))
	return b.String()
}

// Unwrap returns the cause, if the file system reported one. Its text may hold a
// path.
func (r *Refusal) Unwrap() error { return r.cause }

// Correction says in one or two sentences what the operator can do.
func (r *Refusal) Correction() string {
	if r.Client == "" {
		return "Install bubblewrap 0.8.0 or newer, or set " + outerVariable + " to the absolute path of a bwrap that is not set-user-ID and not in the project."
	}
	name, override := string(r.Client), r.Client.Override()
	switch r.Stage {
	case StageExecutable:
		if r.Reason == ReasonOverride {
			return "Set " + override + " to the absolute path of the native " + name + " executable, or unset it to search PATH."
		}
		return "Install " + name + " outside the project and put its folder on PATH, or set " + override + " to its absolute path."
	case StageWrapper:
		if say := r.Manager.correction(name, override); say != "" {
			return say
		}
		if r.Reason == ReasonLayout {
			return "Reinstall " + name + " outside the project, whole and with every file as its package manager left it, or set " + override + " to the absolute path of the native " + name + " executable."
		}
		return "Set " + override + " to the absolute path of the native " + name + " executable behind this launcher."
	case StageSandbox:
		return "Install bubblewrap without set-user-ID on PATH, or reinstall " + name + " with its own codex-resources/bwrap."
	case StageInstallation:
		if r.Client == Pi {
			return "Install the self-contained Pi " + PiVersion + " for Linux x64, with package.json and theme/ beside pi, outside the project."
		}
		return "Reinstall " + name + " outside the project, with every library it needs, or set " + override + " to another installation."
	}
	return "Try again; if it fails again, check the file system that holds " + name + "."
}

// Rejection is a candidate that a search passed over.
type Rejection struct {
	Entry   int    // position in PATH, from 0
	Path    string // the candidate, or the entry where it is none
	Reason  Reason
	Through string // the path, on the way to it, that decided; may be empty
}
