package capture

// Request names one file.
type Request struct {
	Workspace string   // absolute path of a folder
	Path      string   // relative to it, with slashes
	MaxBytes  int      // largest file, bytes
	Excluded  []string // absolute paths of folders whose content is never read; one that does not exist excludes nothing
}

// Read captures the file. The error is an [*Error].
func Read(r Request) ([]byte, error) {
	if err := CheckPath(r.Path); err != nil {
		return nil, err
	}
	return nil, refuse(RuleUnavailable)
}
