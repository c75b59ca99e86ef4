package check

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// maxReadmeLines keeps a module's README to a sentence, an example, the limits
// and a link; the documentation is in the packages.
const maxReadmeLines = 40

var pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// pages looks at what people read first: each module's README and CHANGELOG are
// there, links inside the repository lead somewhere, and programs shown build.
func pages(ctx context.Context, e *Env) (string, error) {
	files, err := workspace.Files(e.Work.Root)
	if err != nil {
		return "", err
	}
	var p Problems
	for _, m := range e.Work.Modules {
		for _, name := range []string{"README.md", "CHANGELOG.md"} {
			if !slices.Contains(files, m.Name+"/"+name) {
				p.add("%s/%s: missing", m.Name, name)
			}
		}
	}
	links, programs := 0, 0
	for _, file := range files {
		if path.Ext(file) != ".md" || strings.Contains("/"+file, "/testdata/") || file == conformancePage || file == complaintsPage {
			continue
		}
		data, err := workspace.Read(e.Work.Root, file)
		if err != nil {
			return "", err
		}
		if lines := strings.Count(string(data), "\n"); isModuleReadme(e, file) && lines > maxReadmeLines {
			p.add("%s: %d lines; at most %d", file, lines, maxReadmeLines)
		}
		text, blocks := splitPage(string(data))
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(e.Work.Root, filepath.FromSlash(path.Join(path.Dir(file), target)))); err != nil {
				p.add("%s: links to %s, which is not there", file, target)
			}
		}
		for _, block := range blocks {
			if !strings.HasPrefix(block, "package ") {
				continue
			}
			programs++
			if err := buildShown(ctx, e, block); err != nil {
				p.add("%s: a program it shows does not build: %v", file, err)
			}
		}
	}
	return fmt.Sprintf("%d links, %d programs", links, programs), p.Err()
}

func isModuleReadme(e *Env, file string) bool {
	return path.Base(file) == "README.md" &&
		slices.ContainsFunc(e.Work.Modules, func(m workspace.Module) bool { return m.Name == path.Dir(file) })
}

// splitPage parts a page's text from its fenced blocks of Go code.
func splitPage(page string) (text string, blocks []string) {
	var b strings.Builder
	fence, code := "", ""
	for line := range strings.Lines(page) {
		mark := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(mark, "```"):
			fence, code = mark, ""
		case fence != "" && mark == "```":
			if fence == "```go" {
				blocks = append(blocks, code)
			}
			fence = ""
		case fence != "":
			code += line
		default:
			b.WriteString(line)
		}
	}
	return b.String(), blocks
}

// buildShown builds a program as if it stood in the workspace.
func buildShown(ctx context.Context, e *Env, program string) error {
	temp, err := os.MkdirTemp("", "shown-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	file := filepath.Join(temp, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		return err
	}
	_, err = workspace.Go(ctx, e.Work.Root, nil, "build", "-trimpath", "-o", filepath.Join(temp, "shown"), file)
	return err
}
