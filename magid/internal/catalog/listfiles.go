package catalog

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/wirev2"
)

// maxFolderEntries is how many entries of one folder are read.
const maxFolderEntries = 10000

// listFiles returns {entries:[{name,type,bytes?}…],withheld,truncated}: one folder by name. type is file, folder, link
// or other; withheld counts entries that no tool reads. truncated is true where entries are left out.
func listFiles(ctx context.Context, w *workspace, a arguments) (jsontext.Value, *ToolError) {
	rel, toolErr := clean(a.path)
	if toolErr != nil {
		return nil, toolErr
	}
	f, info, toolErr := w.open(rel)
	if toolErr != nil {
		return nil, toolErr
	}
	defer f.Close()
	if !info.IsDir() {
		return nil, failed("it is a file: use " + ToolReadFile)
	}
	entries, truncated, toolErr := readFolder(ctx, f, maxFolderEntries)
	if toolErr != nil {
		return nil, toolErr
	}
	out := []byte(`{"entries":[`)
	withheld, shown := 0, 0
	for _, e := range entries {
		if toolErr := stopped(ctx); toolErr != nil {
			return nil, toolErr
		}
		if w.withheld(path.Join(rel, e.Name())) {
			withheld++
			continue
		}
		n := len(out)
		if shown > 0 {
			out = append(out, ',')
		}
		if out = appendFile(out, e); len(out) > MaxResultBytes-frameBytes {
			out, truncated = out[:n], true
			break
		}
		shown++
	}
	out = append(out, `],"withheld":`...)
	out = strconv.AppendInt(out, int64(withheld), 10)
	out = append(out, `,"truncated":`...)
	out = strconv.AppendBool(out, truncated)
	return append(out, '}'), nil
}

func appendFile(b []byte, e fs.DirEntry) []byte {
	name, _ := text([]byte(e.Name()))
	b = append(b, `{"name":`...)
	b = wirev2.AppendString(b, name)
	switch t := e.Type(); {
	case t.IsDir():
		b = append(b, `,"type":"folder"`...)
	case t&fs.ModeSymlink != 0:
		b = append(b, `,"type":"link"`...)
	case t.IsRegular():
		b = append(b, `,"type":"file"`...)
		if info, err := e.Info(); err == nil {
			b = append(b, `,"bytes":`...)
			b = strconv.AppendInt(b, info.Size(), 10)
		}
	default:
		b = append(b, `,"type":"other"`...)
	}
	return append(b, '}')
}

// readFolder reads at most limit entries, sorted by name; more says that there are others.
func readFolder(ctx context.Context, f *os.File, limit int) (entries []fs.DirEntry, more bool, toolErr *ToolError) {
	for len(entries) <= limit {
		if toolErr := stopped(ctx); toolErr != nil {
			return nil, false, toolErr
		}
		batch, err := f.ReadDir(min(1024, limit+1-len(entries)))
		entries = append(entries, batch...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, failed("the folder cannot be read")
		}
		if len(batch) == 0 {
			break
		}
	}
	if len(entries) > limit {
		entries, more = entries[:limit], true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}
