package engine

import (
	"errors"
	"io"
	"os"

	"github.com/magi-jig/magi-jig/jig/internal/engine/source"
)

// MaxCompiledBytes is how large the compiled form of a package may be; a larger
// one is compiled by every run.
const MaxCompiledBytes = source.MaxCompiledBytes

// CompileMain is `jig __compile`: it writes the compiled form of the package at
// [PackageDir] to standard output, for [FlowMain]. Nothing of the package is
// executed. It returns the exit status: 1 for a package that a Flow would refuse
// to load, which then says so itself, in the words for an author.
func CompileMain(args []string) int {
	if len(args) > 0 {
		os.Stderr.WriteString("jig: __compile takes no argument\n")
		return exitEngine
	}
	if status := confine(); status != 0 {
		return status
	}
	if err := compile(os.Stdout, PackageDir); err != nil {
		d := Diagnostic{Code: CodeEngine, Message: err.Error()}
		var p *source.Problem
		if errors.As(err, &p) && p.Path != "" {
			d = refusal(p)
		}
		os.Stderr.Write(d.line())
		return exitFailed
	}
	return 0
}

func compile(to io.Writer, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return errors.New("the package cannot be opened")
	}
	defer root.Close()
	c, found := source.NewPackage(root.FS(), PackageDir).Compile()
	if len(found) > 0 {
		return found[0]
	}
	b := c.Bytes()
	if len(b) > MaxCompiledBytes {
		return errors.New("the compiled package is too large")
	}
	_, err = to.Write(b)
	return err
}

// readCompiled reads the compiled form that the host has put on a descriptor.
func readCompiled(f *os.File) (*source.Compiled, error) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxCompiledBytes+1))
	if err != nil {
		return nil, errors.New("the compiled package cannot be read")
	}
	return source.ReadCompiled(b)
}
