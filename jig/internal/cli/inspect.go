package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

func (a *app) inspectionCommand(end func(ending)) *cobra.Command {
	var why string
	c := a.command("inspect CLIENT", "Say which native client would be launched, and why", exactly(1, "codex, claude or pi"), func(ctx context.Context, args []string) ending {
		if !isClient(args[0]) {
			return a.refused(errClient)
		}
		return a.inspect(ctx, nativeinspect.Client(args[0]), why)
	}, end)
	word(c.Flags(), &why, "why", "say why this file is one of the client's")
	c.ValidArgs, c.ValidArgsFunction = clients, nil
	return c
}

type fileRecord struct {
	Path   string `json:"path"`
	Source string `json:"source,omitzero"` // where a link leads; omitted where none does
	Role   string `json:"role"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

type helperRecord struct {
	fileRecord
	Route    string           `json:"route"`
	Rejected []rejectedRecord `json:"rejected"`
}

type rejectedRecord struct {
	Entry   int    `json:"entry"` // position in PATH, from 0
	Path    string `json:"path"`
	Reason  string `json:"reason"`
	Through string `json:"through,omitzero"`
}

type linkRecord struct {
	From  string `json:"from,omitzero"`
	To    string `json:"to"`
	Role  string `json:"role"`
	Entry string `json:"entry"`
	Found string `json:"found"`
}

type installationRecord struct {
	Client     string           `json:"client"`
	Route      string           `json:"route"`
	Layout     string           `json:"layout"`
	Selected   string           `json:"selected"`
	Version    string           `json:"version,omitzero"`
	Executable fileRecord       `json:"executable"`
	Files      []fileRecord     `json:"files"`
	PathPrefix []string         `json:"pathPrefix,omitzero"`
	Helper     *helperRecord    `json:"helper,omitzero"`
	Rejected   []rejectedRecord `json:"rejected"`
	Digest     string           `json:"digest"`
}

// outside is the folder that no part of a client may lie in: the project, or where
// there is none a folder that holds no program.
func (a *app) outside() string {
	if project.Is(a.dir) {
		return a.dir
	}
	return "/dev"
}

// inspect executes nothing.
func (a *app) inspect(ctx context.Context, c nativeinspect.Client, why string) ending {
	i, err := client.Inspect(ctx, c, a.env, a.outside())
	if err != nil {
		if ctx.Err() != nil {
			return a.refused(ctx.Err())
		}
		return a.uninspected(c, err)
	}
	found := installationOf(i)
	rec := record{"status": statusSucceeded, "installation": found, "diagnostics": []project.Diagnostic{}}
	if why == "" {
		return ending{record: rec, human: found.text(a.outStyle)}
	}
	if !filepath.IsAbs(why) {
		why = filepath.Join(a.dir, why)
	}
	links, ok := whyOf(i, filepath.Clean(why))
	if !ok {
		return a.refused(&refusal{code: codeTargetUnknown, message: "that file is none of the client's", hint: "jig inspect " + string(c) + " lists them"})
	}
	var chain []linkRecord
	var lines []string
	for _, l := range links {
		chain = append(chain, linkRecord{legible(l.From), legible(l.To), string(l.Role), legible(l.Entry), legible(l.Found)})
		from := "selected"
		if l.From != "" {
			from = escape(l.From)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s (%s, by %s)", from, a.outStyle.arrow(), escape(l.To), escape(l.Entry), escape(l.Found)))
	}
	rec["why"] = chain
	return ending{record: rec, human: joinLines(lines)}
}

// whyOf is the chain of a file. What was selected, and the launcher that it leads
// to, are none of what is launched; they are why the executable is.
func whyOf(i *nativeinspect.Installation, file string) ([]nativeinspect.Link, bool) {
	links, ok := i.Why(file)
	if ok {
		return links, true
	}
	if links, ok = i.Why(i.Executable.Path); ok && (file == i.Selected || len(links) > 0 && file == links[0].From) {
		return links, true
	}
	return nil, false
}

// uninspected is a refusal with what the search passed over.
func (a *app) uninspected(c nativeinspect.Client, err error) ending {
	r := a.refusal(client.Refused(c, err))
	var refused *nativeinspect.Refusal
	if errors.As(err, &refused) {
		details := map[string]any{"rejected": rejectedOf(refused.Rejected)}
		if refused.Subject != "" {
			details["subject"] = legible(refused.Subject)
		}
		r.details = details
	}
	e := a.refused(r)
	if refused != nil {
		if refused.Subject != "" {
			a.say("  %s", a.errStyle.wrap(escape(refused.Subject), 2))
		}
		for _, x := range rejectedOf(refused.Rejected) {
			a.say("  %s", a.errStyle.wrap(x.text(), 2))
		}
	}
	return e
}

// legible is a path of the operator's as JSON can hold it: what is not UTF-8 in it is
// replaced. It says where something was found and is never opened again.
func legible(path string) string { return strings.ToValidUTF8(path, "\ufffd") }

func installationOf(i *nativeinspect.Installation) installationRecord {
	r := installationRecord{
		Client: string(i.Client), Route: string(i.Route), Layout: string(i.Layout), Selected: legible(i.Selected), Version: i.Version,
		Executable: fileOf(i.Executable), Files: []fileRecord{}, PathPrefix: i.PathPrefix, Rejected: rejectedOf(i.Rejected), Digest: "sha256:" + i.Digest().String(),
	}
	for _, f := range i.Files {
		r.Files = append(r.Files, fileOf(f))
	}
	if h := i.Helper; h != nil {
		r.Helper = &helperRecord{fileOf(h.File), string(h.Route), rejectedOf(h.Rejected)}
	}
	return r
}

func fileOf(f nativeinspect.File) fileRecord {
	r := fileRecord{Path: f.Path, Role: string(f.Role), Digest: "sha256:" + f.Digest.String(), Size: f.Size}
	if f.Source != f.Path {
		r.Source = legible(f.Source)
	}
	return r
}

func rejectedOf(list []nativeinspect.Rejection) []rejectedRecord {
	out := []rejectedRecord{}
	for _, x := range list {
		out = append(out, rejectedRecord{x.Entry, legible(x.Path), string(x.Reason), legible(x.Through)})
	}
	return out
}

func (x rejectedRecord) text() string {
	line := fmt.Sprintf("passed over (PATH entry %d) %s: %s", x.Entry, escape(x.Path), x.Reason)
	if x.Through != "" && x.Through != x.Path {
		line += ", through " + escape(x.Through)
	}
	return line
}

func (f fileRecord) text() string {
	line := fmt.Sprintf("%-11s %s", f.Role, escape(f.Path))
	if f.Source != "" {
		line += " (" + escape(f.Source) + ")"
	}
	return line + fmt.Sprintf(" %s, %d bytes", f.Digest, f.Size)
}

// text is the installation for a person.
func (r installationRecord) text(s style) string {
	var b strings.Builder
	line := func(indent int, text string) {
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", indent), s.wrap(text, indent))
	}
	head := fmt.Sprintf("%s, found by %s as %s, layout %s", r.Client, r.Route, escape(r.Selected), r.Layout)
	if r.Version != "" {
		head += ", version " + escape(r.Version)
	}
	line(0, head)
	line(2, r.Executable.text())
	for _, f := range r.Files {
		line(2, f.text())
	}
	if r.Helper != nil {
		line(2, r.Helper.text()+", found by "+r.Helper.Route)
		for _, x := range r.Helper.Rejected {
			line(4, "helper: "+x.text())
		}
	}
	for _, x := range r.Rejected {
		line(2, x.text())
	}
	line(0, "installation "+r.Digest)
	return b.String()
}
