package contract

import (
	"embed"
	"io/fs"
	"path"
	"sync"
)

// Bundles are this host's own descriptors of its resources, one folder each.
// They mean what the public ones mean, in this project's words.
//
//go:embed bundle
var bundles embed.FS

// BundleFiles returns the descriptor files of a resource by name, for a package
// that wants to carry them. They are fresh copies.
func BundleFiles(id ResourceID) map[string][]byte {
	dir := "bundle/" + path.Base(string(id))
	files := map[string][]byte{}
	entries, err := fs.ReadDir(bundles, dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if b, err := bundles.ReadFile(dir + "/" + e.Name()); err == nil {
			files[e.Name()] = b
		}
	}
	return files
}

// Bundle parses this host's own contract of a resource.
func Bundle(id ResourceID) (*Invocation, error) {
	files := BundleFiles(id)
	return ParseInvocation(files["contract.json"], func(name string) ([]byte, error) {
		if b, ok := files[name]; ok {
			return b, nil
		}
		return nil, fs.ErrNotExist
	})
}

// implemented are the public revisions and this host's own.
var implemented = sync.OnceValue(func() []Identity {
	all := append([]Identity{}, resources...)
	for _, id := range []ResourceID{FiniteACP, HTTPRequest} {
		i, err := Bundle(id)
		if err != nil {
			panic("contract: an embedded descriptor is broken: " + err.Error()) // a test parses them
		}
		all = append(all, i.Identity)
	}
	return all
})
