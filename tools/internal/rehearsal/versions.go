package rehearsal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"
)

// VersionsFile is the page that says which version of which module is next.
const VersionsFile = "versions.yaml"

// Versions is what VersionsFile holds. It is not changed after ParseVersions
// and then safe for concurrent use.
type Versions struct {
	Modules  map[string]string `yaml:"modules"`  // folder to version
	Programs []string          `yaml:"programs"` // folders whose command answers "version"
}

// ParseVersions reads VersionsFile. modules are the folders of go.work: each
// needs a version, and nothing else may have one.
func ParseVersions(data []byte, modules []string) (*Versions, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var v Versions
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: %w", VersionsFile, err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: one document is wanted", VersionsFile)
	}
	for _, name := range modules {
		if v.Modules[name] == "" {
			return nil, fmt.Errorf("%s: go.work uses %s, which has no version here", VersionsFile, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Modules)) {
		version := v.Modules[name]
		switch {
		case !slices.Contains(modules, name):
			return nil, fmt.Errorf("%s: %s has a version here, but go.work does not use it", VersionsFile, name)
		case semver.Canonical(version) != version || strings.Contains(version, "+"):
			return nil, fmt.Errorf("%s: %s: %q is no version; want vX.Y.Z", VersionsFile, name, version)
		case semver.Major(version) != "v0" && semver.Major(version) != "v1":
			return nil, fmt.Errorf("%s: %s: %s needs a module path that ends in %s", VersionsFile, name, version, semver.Major(version))
		}
	}
	for _, name := range v.Programs {
		if v.Modules[name] == "" {
			return nil, fmt.Errorf("%s: program %s is no module", VersionsFile, name)
		}
	}
	return &v, nil
}
