package cli

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/flows"
	"github.com/magi-jig/magi-jig/jig/internal/engine"
)

//go:embed template template-agent
var template embed.FS

const gitignore = ".gitignore"

// starter are the files of a new project by path, with an Agent if a client is
// named.
func starter(client string) (map[string][]byte, error) {
	files := map[string][]byte{"jig.d.ts": []byte(engine.Types)}
	if err := addTemplate(files, "template"); err != nil || client == "" {
		return files, err
	}
	if err := addTemplate(files, "template-agent"); err != nil {
		return files, err
	}
	const binding = "bindings/agent.ts"
	files[binding] = bytes.Replace(files[binding], []byte(`client: "codex"`), []byte(`client: "`+client+`"`), 1)
	for name, content := range flows.Agent() {
		files[path.Join("flows/agent", name)] = content
	}
	return files, nil
}

// addTemplate adds the files below an embedded folder.
func addTemplate(files map[string][]byte, dir string) error {
	return fs.WalkDir(template, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := template.ReadFile(p)
		name := strings.TrimPrefix(p, dir+"/")
		if name == "gitignore" {
			name = gitignore
		}
		files[name] = b
		return err
	})
}

func (a *app) initCommand(end func(ending)) *cobra.Command {
	var client string
	c := a.command("init [DIR]", "Write a first project", atMost(1), func(_ context.Context, args []string) ending {
		dir := "."
		if len(args) == 1 {
			if dir = args[0]; dir == "" {
				return a.refused(refuse(codeUsage, "the name of the folder is empty"))
			}
		}
		written, err := a.initialise(dir, client)
		if err != nil {
			return a.refused(err)
		}
		var lines []string
		for _, p := range written {
			lines = append(lines, "wrote "+escape(filepath.Join(dir, p)))
		}
		next := "next: jig review"
		if dir != "." {
			next = "next: cd " + escape(dir) + " && jig review"
		}
		return ending{
			record: record{"status": "succeeded", "files": written, "diagnostics": diagnostics(&refusal{})},
			human:  joinLines(append(lines, next)),
		}
	}, end)
	c.Flags().Var(&onceWord{into: &client, words: []string{"codex", "claude", "pi"}}, "client", "also write an Agent that works through codex, claude or pi")
	return c
}

func (a *app) initialise(dir, client string) (written []string, err error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.dir, dir)
	}
	files, err := starter(client)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, initRefused("the folder cannot be made", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, initRefused("the destination cannot be opened", err)
	}
	defer root.Close()
	for name := range files {
		// A Flow is ours as a whole; beside it may be others.
		taken := name
		if parts := strings.SplitN(name, "/", 3); len(parts) == 3 && parts[0] == "flows" {
			taken = parts[0] + "/" + parts[1]
		}
		if _, err := root.Lstat(taken); err == nil && name != gitignore {
			return nil, refuse(codeInitExists, taken+" is there already, and nothing is overwritten")
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, initRefused(taken+" cannot be examined", err)
		}
	}
	return a.write(root, files)
}

// initRefused says what the system did not let jig do, and why. Where something
// stands in the way, it is that a destination exists; else nobody but the machine's
// operator can help.
func initRefused(what string, err error) error {
	r := &refusal{code: codeUnavailable, message: what, cause: err}
	var reason syscall.Errno
	if errors.As(err, &reason) {
		r.message += ": " + reason.Error()
		if reason == syscall.ENOTDIR || reason == syscall.EEXIST {
			r.code = codeInitExists
		}
	}
	return r
}

// write writes all files or none.
func (a *app) write(root *os.Root, files map[string][]byte) (written []string, err error) {
	var made []string // folders
	defer func() {
		if err == nil {
			return
		}
		for _, p := range slices.Backward(append(made, written...)) {
			if removed := root.Remove(p); removed != nil {
				err = &refusal{code: codeInitCleanup, message: "the project could not be written, and " + p + " could not be removed again", cause: err}
				return
			}
		}
	}()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == gitignore {
			if have, err := root.ReadFile(name); err == nil {
				if !slices.Contains(strings.Fields(string(have)), strings.TrimSpace(string(files[name]))) {
					a.warn("%s is there already; add the line .jig/ to it", gitignore)
				}
				continue
			}
		}
		if made, err = folders(root, path.Dir(name), made); err != nil {
			return written, initRefused("the folder for "+name+" cannot be made", err)
		}
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return written, initRefused(name+" cannot be written", err)
		}
		written = append(written, name)
		_, err = f.Write(files[name])
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return written, initRefused(name+" cannot be written", err)
		}
	}
	return written, nil
}

// folders makes dir and what is missing above it, and adds what it made.
func folders(root *os.Root, dir string, made []string) ([]string, error) {
	if dir == "." {
		return made, nil
	}
	made, err := folders(root, path.Dir(dir), made)
	if err != nil {
		return made, err
	}
	switch err := root.Mkdir(dir, 0o777); {
	case err == nil:
		return append(made, dir), nil
	case errors.Is(err, fs.ErrExist):
		return made, nil
	default:
		return made, err
	}
}
