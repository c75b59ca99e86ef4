package check

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// goFiles returns the Go files of the workspace's modules.
func goFiles(e *Env) ([]string, error) {
	files, err := workspace.Files(e.Work.Root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return !workspace.IsGo(file) || !slices.ContainsFunc(e.Work.Modules, func(m workspace.Module) bool {
			return strings.HasPrefix(file, m.Name+"/")
		})
	}), nil
}

func gofmt(ctx context.Context, e *Env) (string, error) {
	files, err := goFiles(e)
	if err != nil || len(files) == 0 {
		return "no Go files", err
	}
	goroot, err := workspace.Go(ctx, e.Work.Root, nil, "env", "GOROOT")
	if err != nil {
		return "", err
	}
	flag := "-l"
	if e.Write {
		flag = "-w"
	}
	out, err := workspace.Run(ctx, e.Work.Root, nil, filepath.Join(strings.TrimSpace(goroot), "bin", "gofmt"),
		append([]string{"-s", flag}, files...)...)
	if err != nil {
		return "", err
	}
	var p Problems
	for file := range strings.FieldsSeq(out) {
		p.add("%s: not formatted; go run ./tools/cmd/check -run gofmt -write", file)
	}
	return fmt.Sprintf("%d files", len(files)), p.Err()
}

// maxLines is the length at which a file holds more than one idea.
const maxLines = 500

var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func length(_ context.Context, e *Env) (string, error) {
	files, err := goFiles(e)
	if err != nil {
		return "", err
	}
	var p Problems
	longest := 0
	for _, file := range files {
		data, err := workspace.Read(e.Work.Root, file)
		if err != nil {
			return "", err
		}
		lines := bytes.Count(data, []byte("\n"))
		if generatedLine.Match(data) {
			continue
		}
		longest = max(longest, lines)
		if lines > maxLines && !e.Except.excuse("length", file) {
			p.add("%s: %d lines; at most %d, one idea a file", file, lines, maxLines)
		}
	}
	return fmt.Sprintf("longest has %d lines", longest), append(p, e.Except.stale("length")...).Err()
}

// packageDoc wants exactly one package comment in each folder with Go files
// other than tests, beginning as go doc expects.
func packageDoc(_ context.Context, e *Env) (string, error) {
	files, err := goFiles(e)
	if err != nil {
		return "", err
	}
	var p Problems
	docs := map[string][]string{} // folder to the files that hold a package comment
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		folder := path.Dir(file)
		if _, ok := docs[folder]; !ok {
			docs[folder] = nil
		}
		data, err := workspace.Read(e.Work.Root, file)
		if err != nil {
			return "", err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, data, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			p.add("%v", err)
			continue
		}
		want := "Package " + parsed.Name.Name + " "
		if parsed.Name.Name == "main" {
			want = "Command "
		}
		if parsed.Doc != nil {
			docs[folder] = append(docs[folder], file)
			if !strings.HasPrefix(parsed.Doc.Text(), want) {
				p.add("%s: its package comment begins with %q, not with %q", file, firstWords(parsed.Doc.Text()), want)
			}
		}
		for _, comment := range parsed.Comments {
			if comment != parsed.Doc && comment.Pos() < parsed.Package && strings.HasPrefix(comment.Text(), want) {
				p.add("%s: a blank line cuts its package comment off from the package clause", file)
			}
		}
	}
	for folder, holders := range docs {
		switch {
		case len(holders) == 0:
			p.add("%s: no package comment", folder)
		case len(holders) > 1:
			p.add("%s: package comments in %s; keep one", folder, strings.Join(holders, ", "))
		}
	}
	slices.Sort(p)
	return fmt.Sprintf("%d packages", len(docs)), p.Err()
}

func firstWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(2, len(words))], " ")
}

// comments calls see with each comment of a Go file, without parsing it.
func comments(data []byte, see func(line int, text string)) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(data))
	var s scanner.Scanner
	s.Init(file, data, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return
		case token.COMMENT:
			see(file.Line(pos), text)
		}
	}
}
