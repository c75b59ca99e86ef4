package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/magi-jig/magi-jig/appresources"
	"github.com/magi-jig/magi-jig/wirev2"
)

// maxSourceBytes is more than a request can carry: what is longer need not be read to be refused.
const maxSourceBytes = 32768

// offer is one file that a chat lends to the model.
type offer struct {
	file     string
	resource wirev2.Resource
	contract *appresources.Contract // nil for a skill
	revision wirev2.ID              // of the registered one; "" until it is
}

// offers reads the files that the flags name. What a daemon would refuse for its form is refused here, before anything
// is said to anybody.
func (f chatFlags) offers(ctx context.Context) ([]*offer, error) {
	descriptions := make(map[string]string, len(f.describe))
	for _, entry := range f.describe {
		name, text, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, usagef("--describe is NAME=TEXT")
		}
		descriptions[name] = text
	}
	var all []*offer
	for _, kind := range []struct {
		kind  wirev2.ResourceKind
		files []string
	}{{wirev2.KindTool, f.tools}, {wirev2.KindSkill, f.skills}} {
		for _, file := range kind.files {
			o, err := newOffer(ctx, kind.kind, file)
			if err != nil {
				return nil, err
			}
			o.resource.Description = descriptions[o.resource.Name]
			delete(descriptions, o.resource.Name)
			all = append(all, o)
		}
	}
	for name := range descriptions {
		return nil, usagef("--describe names %q, and no --tool or --skill does", name)
	}
	return all, f.checkExec()
}

func (f chatFlags) checkExec() error {
	switch {
	case len(f.tools) > 0 && f.exec == "":
		return usagef("--tool needs --exec COMMAND: somebody has to run the tool")
	case len(f.tools) == 0 && f.exec != "":
		return usagef("--exec is for the calls of a --tool")
	case f.yes && f.exec == "":
		return usagef("--yes goes with --exec")
	}
	return nil
}

// newOffer reads one file. Its name is that of the file without what follows the first dot, or what stands before the
// file and an equals sign.
func newOffer(ctx context.Context, kind wirev2.ResourceKind, argument string) (*offer, error) {
	name, file, named := strings.Cut(argument, "=")
	if !named {
		file = argument
		name, _, _ = strings.Cut(filepath.Base(file), ".")
		name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	}
	content, err := readSource(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", kind, err)
	}
	o := &offer{file: file, resource: wirev2.Resource{
		Kind: kind, Name: name, Source: wirev2.Source{Kind: wirev2.SourceInline, Content: &content},
	}}
	form := appresources.Registration{Kind: appresources.Kind(kind), Name: name}
	if err := form.CheckForm(); err != nil {
		return nil, usagef("--%s: %v; to name %s otherwise, say --%s NAME=%s", kind, err, file, kind, file)
	}
	if kind == wirev2.KindTool {
		if o.contract, err = appresources.ParseContract([]byte(content)); err != nil {
			return nil, fmt.Errorf("--tool: %s: %w", file, err)
		}
	}
	return o, nil
}

func readSource(ctx context.Context, file string) (string, error) {
	read, err := readAll(ctx, maxSourceBytes+1, func() (io.ReadCloser, error) { return os.Open(file) })
	if err == nil && len(read) > maxSourceBytes {
		err = fmt.Errorf("%s is longer than %d bytes", file, maxSourceBytes)
	}
	return string(read), err
}
