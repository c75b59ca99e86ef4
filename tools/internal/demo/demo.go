// Package demo shows jig at work with a real Codex and a scripted model: a project
// is made, reviewed and run, and what is claimed on the way is proved.
//
// Everything happens below one folder of /var/tmp, which is removed at the end: a
// native scope keeps /tmp and the folders of a workspace for itself, and refuses
// agents that are installed there.
//
// # Limits
//
// Three minutes for all of it, once jig is built; a first build on a small machine
// takes longer than that.
//
// # Errors
//
// The first claim that does not hold ends the demonstration, with all that jig
// said.
//
// # Concurrency
//
// A demonstration is for one goroutine.
package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/tools/internal/native"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Options say where things are. It is a value.
type Options struct {
	Root   string    // of the repository
	Agents string    // the folder of the installed agents
	Out    io.Writer // is told the story
	Temp   string    // everything happens below it; empty: /var/tmp
}

const limit = 3 * time.Minute

// key is the credential that must be seen in one place only.
const key = "sk-demo-0123456789"

// story is one demonstration.
type story struct {
	Options
	dir   string // everything is below it
	model *scripted.Server
	env   []string
}

// Run gives the demonstration.
func Run(ctx context.Context, o Options) (err error) {
	s := &story{Options: o}
	if s.dir, err = os.MkdirTemp(cmp.Or(o.Temp, "/var/tmp"), "jig-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if s.model, err = scripted.Start(scripted.Options{TLS: true, Respond: scripted.ByText}); err != nil {
		return err
	}
	defer s.model.Close()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the demonstration took more than %v", limit))
	defer cancel()
	for _, step := range []func(context.Context) error{s.init, s.review, s.turn, s.escalation, s.refusal} {
		if err := step(ctx); err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return err
		}
	}
	s.say("Done. Nothing of it is left.\n")
	return nil
}

func (s *story) say(format string, a ...any) { fmt.Fprintf(s.Out, format, a...) }

func (s *story) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// prepare builds jig, and puts Codex where an operator would have it.
func (s *story) prepare(ctx context.Context) error {
	s.say("A reviewed Agent Flow talks to a real Codex, and Codex to a model that is a\nscript on loopback. No key, and nothing leaves the machine.\n\n")
	if err := os.Chmod(s.dir, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"home", "codex/node_modules"} {
		if err := os.MkdirAll(s.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := native.Link(filepath.Join(s.Agents, "codex", "node_modules", "@openai"), s.path("codex/node_modules/@openai")); err != nil {
		return fmt.Errorf("codex is not installed; run make native: %w", err)
	}
	s.say("jig is being built; the first time takes minutes.\n\n")
	if _, err := workspace.Go(ctx, s.Root, []string{"CGO_ENABLED=0"}, "build", "-o", s.path("jig"), "./jig"); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("authority.pem"), s.model.Authority(), 0o644); err != nil {
		return err
	}
	s.env = []string{
		"HOME=" + s.path("home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "SSL_CERT_FILE=" + s.path("authority.pem"),
		"CODEX_PATH=" + s.path("codex/node_modules/@openai/codex/bin/codex.js"),
		"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + s.model.URL(), "OPENAI_MODEL=gpt-5.1",
	}
	return nil
}

func (s *story) init(ctx context.Context) error {
	_, err := s.jig(ctx, s.path("home"), 0, "init", s.path("project"), "--client", "codex")
	return err
}

// record is what jig prints of a command; members that nobody here looks at are
// not read.
type record struct {
	Status string         `json:"status"`
	Code   string         `json:"code"`
	Output jsontext.Value `json:"output"`
	Grants []struct {
		Binding        string `json:"binding"`
		Slot           string `json:"slot"`
		Client         string `json:"client"`
		Model          string `json:"model"`
		Authentication string `json:"authentication"`
		Executable     string `json:"executable"`
	} `json:"grants"`

	all string // what jig said, on both streams
}

// jig runs jig in a folder and wants it to end with that code.
func (s *story) jig(ctx context.Context, dir string, code int, args ...string) (record, error) {
	shown := strings.ReplaceAll(strings.Join(args, " "), s.dir+"/", "")
	s.say("$ jig %s\n", shown)
	cmd := exec.CommandContext(ctx, s.path("jig"), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, s.env, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return record{}, err
	}
	r := record{all: out.String() + errs.String()}
	if got := cmd.ProcessState.ExitCode(); got != code {
		return r, fmt.Errorf("jig %s ended with %d, not with %d\n%s", shown, got, code, r.all)
	}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			return r, fmt.Errorf("jig %s: %w\n%s", shown, err, r.all)
		}
	}
	if strings.Contains(r.all, key) {
		return r, errors.New("jig showed the key")
	}
	return r, nil
}

// run runs the Agent with instructions.
func (s *story) run(ctx context.Context, code int, instructions string) (record, error) {
	return s.jig(ctx, s.path("project"), code, "run", "binding:agent", "--json", "--timeout", "60s",
		"--input", `{"instructions":"`+instructions+`"}`)
}

func (s *story) review(ctx context.Context) error {
	r, err := s.jig(ctx, s.path("project"), 0, "review", "--json", "--yes", "--allow-authority-changes")
	if err != nil {
		return err
	}
	if len(r.Grants) != 1 || r.Grants[0].Client != "codex" {
		return fmt.Errorf("the review does not show the one grant\n%s", r.all)
	}
	g := r.Grants[0]
	s.say("  lends   %s (%s) to slot %s of %s, by %s\n  runs    %s\n", g.Client, g.Model, g.Slot, g.Binding, g.Authentication,
		strings.TrimPrefix(g.Executable, s.dir+"/"))
	return s.asked(0, "the review asked the model nothing")
}

func (s *story) turn(ctx context.Context) error {
	r, err := s.run(ctx, 0, "Say HELLO")
	if err != nil {
		return err
	}
	return errors.Join(s.answers(r, `{"text":"Hello from a script."}`), s.asked(1, "one turn was one request, and the key went with it and nowhere else"))
}

func (s *story) escalation(ctx context.Context) error {
	r, err := s.run(ctx, 0, "ESCALATE touch /etc/jig-demo")
	if err != nil {
		return err
	}
	if _, err := os.Stat("/etc/jig-demo"); !errors.Is(err, os.ErrNotExist) {
		return errors.New("the command ran")
	}
	all := s.model.Requests()
	if len(all) == 0 || !bytes.Contains(all[len(all)-1].Body, []byte("rejected")) {
		return errors.New("Codex did not tell the model that it may not")
	}
	return errors.Join(s.answers(r, `{"text":"The tool answered."}`), s.asked(3, "Codex asked to leave its sandbox, was refused, and told the model so"))
}

func (s *story) refusal(ctx context.Context) error {
	r, err := s.run(ctx, 1, "FAIL401")
	if err != nil {
		return err
	}
	if strings.Contains(r.all, scripted.FailureText) {
		return errors.New("the model's own words came through")
	}
	s.say("  %s   %s\n", r.Status, r.Code)
	return s.asked(4, "the model refused the key; its words stayed inside, and nobody asked again")
}

func (s *story) answers(r record, want string) error {
	if string(r.Output) != want {
		return fmt.Errorf("the answer is %s, not %s\n%s", r.Output, want, r.all)
	}
	s.say("  answers %s\n", r.Output)
	return nil
}

// asked proves how many requests have come, and that each carried the key in its
// place.
func (s *story) asked(n int, claim string) error {
	all := s.model.Requests()
	if len(all) != n {
		return fmt.Errorf("the model was asked %d times, not %d", len(all), n)
	}
	for _, r := range all {
		if r.Header.Get("Authorization") != "Bearer "+key || bytes.Contains(r.Body, []byte(key)) {
			return errors.New("the key is not where it belongs")
		}
	}
	s.say("  proved  %s\n\n", claim)
	return nil
}
