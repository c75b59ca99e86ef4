package capture

import (
	"bytes"
	"unicode/utf8"
)

// Request names one file.
type Request struct {
	Workspace string   // absolute path of a folder
	Path      string   // relative to it, with slashes
	MaxBytes  int      // largest file, bytes; required
	Excluded  []string // absolute paths of folders whose content is never read; one that does not exist excludes nothing
}

// Read captures the file. The error is an [*Error].
func Read(r Request) ([]byte, error) {
	return read(r, best(), nil)
}

// read is Read with one of the two ways to open components. at is called at
// each stage; tests change the workspace there.
func read(r Request, w way, at func(stage)) ([]byte, error) {
	if err := CheckPath(r.Path); err != nil {
		return nil, err
	}
	if CredentialPath(r.Path) {
		return nil, refuse(RuleCredential)
	}
	if at == nil {
		at = func(stage) {}
	}
	text, err := capture(r, w, at)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, refuse(RuleText)
	}
	return text, nil
}

// stage is a moment between two system calls of a capture.
type stage string

const (
	stageLocated stage = "located" // the file's folder is open
	stageSeen    stage = "seen"    // the file is known to be regular
	stageOpened  stage = "opened"  // the file is open
	stageRead    stage = "read"    // its bytes are read
	stageSame    stage = "same"    // it is unchanged, its path not yet compared
)
