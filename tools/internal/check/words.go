package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// textFiles calls see with each file that people read or write: sources,
// pages and settings, but no test data and no files of package managers.
func textFiles(e *Env, see func(file string, data []byte)) (int, error) {
	files, err := workspace.Files(e.Work.Root)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, file := range files {
		if strings.Contains("/"+file, "/testdata/") {
			continue
		}
		switch path.Ext(file) {
		case ".go", ".md", ".ts", ".js", ".mjs", ".json", ".yaml", ".yml", ".toml", ".sh", ".mod", ".work", ".tsv", ".html", ".css":
		case "":
			if strings.HasPrefix(path.Base(file), "LICENSE") {
				continue
			}
		default:
			continue
		}
		data, err := workspace.Read(e.Work.Root, file)
		if err != nil {
			return n, err
		}
		if bytes.IndexByte(data, 0) >= 0 {
			continue // a program that somebody built here
		}
		n++
		see(file, data)
	}
	return n, nil
}

func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}

var (
	openEnd = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	owned   = regexp.MustCompile(`^TO` + `DO\(#[0-9]+\)`)
)

// todo refuses an open end that no issue owns. In Go files only comments count.
func todo(_ context.Context, e *Env) (string, error) {
	var p Problems
	owners := 0
	look := func(file string, line int, text string) {
		for _, at := range openEnd.FindAllStringIndex(text, -1) {
			switch {
			case owned.MatchString(text[at[0]:]):
				owners++
			case !e.Except.excuse("todo", file):
				p.add("%s:%d: %s without its issue; write TO"+"DO(#3) or do it", file,
					line+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]])
			}
		}
	}
	n, err := textFiles(e, func(file string, data []byte) {
		if strings.HasSuffix(file, ".go") {
			comments(data, func(line int, text string) { look(file, line, text) })
			return
		}
		look(file, 1, string(data))
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d files, %d owned", n, owners), append(p, e.Except.stale("todo")...).Err()
}

// banned is something that must not stand in a file.
type banned struct {
	pattern *regexp.Regexp
	reason  string
}

func look(e *Env, check string, list []banned, skip func(file string) bool) (string, error) {
	var p Problems
	n, err := textFiles(e, func(file string, data []byte) {
		if skip(file) {
			return
		}
		for _, b := range list {
			for _, at := range b.pattern.FindAllIndex(data, -1) {
				if !e.Except.excuse(check, file) {
					p.add("%s:%d: %q: %s", file, lineOf(data, at[0]), data[at[0]:at[1]], b.reason)
				}
			}
		}
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d files", n), append(p, e.Except.stale(check)...).Err()
}

// words refuses promises that no program can keep, also across a line break.
func words(_ context.Context, e *Env) (string, error) {
	return look(e, "words", []banned{
		{regexp.MustCompile(`(?i)\bexactly[-\s/#*>]+once\b`),
			"say: at most one dispatch, and an honest uncertain"},
	}, func(file string) bool {
		return strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "tools/rules/") || file == "docs/conformance.md"
	})
}

// traces refuses what ties the tree to one machine, one registry or one person.
func traces(_ context.Context, e *Env) (string, error) {
	list := []banned{
		{regexp.MustCompile("(?m)(?:^|[\\s\"'`(=:])/(?:root|Users|home/[a-z]+/(?:src|go|work|projects))/"),
			"a path of one machine"},
		{regexp.MustCompile(`\b(?:proxy|sum)\.golang\.org|\bregistry\.npmjs\.org|\bregistry\.yarnpkg\.com|\bdeb\.debian\.org`),
			"a registry host; the tools' own settings choose it"},
		{regexp.MustCompile(`\b(?:github_pat_|gh[pousr]_|sk-ant-|sk-proj-)[A-Za-z0-9_-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY`),
			"looks like a key"},
	}
	// Folders beside this checkout: what a developer pastes by mistake.
	if parent := filepath.Dir(e.Work.Root); parent != "/" && parent != os.TempDir() {
		beside, err := os.ReadDir(parent)
		if err != nil {
			return "", err
		}
		for _, entry := range beside {
			list = append(list, banned{regexp.MustCompile(regexp.QuoteMeta(filepath.Join(parent, entry.Name())) + `\b`),
				"a path of this machine"})
		}
	}
	return look(e, "traces", list, func(file string) bool {
		return strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "tools/rules/")
	})
}
