package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// systemPath is all that the agents and bun find while they are installed: the
// launcher of Codex is a script for node.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// agent is one folder below installed.
type agent struct {
	folder  string
	key     string   // its package, as a folder of node_modules
	without []string // dependencies that it does without
	program string   // below the folder: asked for its version; "" for none
}

// agents returns what is installed for the demonstration, or all.
func agents(demo bool) []agent {
	codex := agent{"codex", "node_modules/@openai/codex", nil, "node_modules/.bin/codex"}
	if demo {
		return []agent{codex}
	}
	return []agent{
		codex,
		{"codex-later", "node_modules/codex-later", nil, "node_modules/.bin/codex"},
		{"claude", claudePackage, nil, "node_modules/.bin/claude"},
		{"codex-acp", "node_modules/@agentclientprotocol/codex-acp", []string{"@openai/codex-linux-x64"}, ""},
	}
}

const (
	claudePackage = "node_modules/@anthropic-ai/claude-code"
	claudeNative  = "node_modules/@anthropic-ai/claude-code-linux-x64"
	piPackage     = "node_modules/@earendil-works/pi-coding-agent"
	bunPackage    = "node_modules/@oven/bun-linux-x64"
	photonPackage = "node_modules/@silvia-odwyer/photon-node"
)

// arrange makes stage/installed of stage/node_modules.
func arrange(ctx context.Context, o Options, stage string) error {
	installed := filepath.Join(stage, "installed")
	if err := os.MkdirAll(installed, 0o755); err != nil {
		return err
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		fmt.Fprintln(o.Out, "native: the agents are pinned for Linux on x86-64; here only the packages are installed")
		return nil
	}
	t, err := readTree(stage)
	if err != nil {
		return err
	}
	home := filepath.Join(stage, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	if !o.Demo {
		if err := placeClaude(t); err != nil {
			return err
		}
	}
	for _, a := range agents(o.Demo) {
		to := filepath.Join(installed, a.folder)
		if err := t.isolate(a.key, to, a.without...); err != nil {
			return err
		}
		if err := o.settle(ctx, t, a, to, home); err != nil {
			return err
		}
	}
	if o.Demo {
		return nil
	}
	to := filepath.Join(installed, "pi")
	if err := buildPi(ctx, t, to, home); err != nil {
		return err
	}
	return o.settle(ctx, t, agent{folder: "pi", key: piPackage, program: "pi"}, to, home)
}

// settle asks an agent for its version, and tells what was installed.
func (o Options) settle(ctx context.Context, t *tree, a agent, to, home string) error {
	want := t.packages[a.key].Version
	if a.program != "" {
		got, err := version(ctx, filepath.Join(to, filepath.FromSlash(a.program)), home)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s says it is version %s and not %s", a.folder, got, want)
		}
	}
	size, err := sizeOf(to)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "native: %-11s %-8s %4d MB\n", a.folder, want, (size+500_000)/1_000_000)
	return nil
}

// placeClaude does what the package's own script does: the placeholder of its
// command becomes the program of the platform package.
func placeClaude(t *tree) error {
	program := t.path(claudeNative, "claude")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("npm did not install Claude Code for this machine: %w", err)
	}
	for _, file := range t.packages[claudePackage].Bin {
		place := t.path(claudePackage, file)
		if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := link(program, place); err != nil {
			return err
		}
	}
	return nil
}

// buildPi makes Pi the folder that its project releases: one program, made by
// bun of the published package, and the files that it reads beside itself.
func buildPi(ctx context.Context, t *tree, to, home string) error {
	if _, ok := t.packages[piPackage]; !ok {
		return errors.New("npm did not install Pi")
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	env := []string{"HOME=" + home, "PATH=" + systemPath, "LANG=C.UTF-8", "TMPDIR=" + home}
	_, err := run(ctx, 2*time.Minute, t.path(piPackage), env, t.path(bunPackage, "bin", "bun"),
		"build", "--compile", "--no-compile-autoload-bunfig",
		"./dist/bun/cli.js", "./dist/utils/image-resize-worker.js", "--outfile", filepath.Join(to, "pi"))
	if err != nil {
		return fmt.Errorf("Pi could not be built: %w", err)
	}
	for _, name := range []string{"package.json", "README.md", "CHANGELOG.md"} {
		if err := link(t.path(piPackage, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	for _, beside := range []struct {
		from, to string
		patterns []string
	}{
		{"dist/modes/interactive/theme", "theme", []string{"*.json"}},
		{"dist/modes/interactive/assets", "assets", []string{"*.png"}},
		{"dist/core/export-html", "export-html", []string{"*.html", "*.css", "template.js", "*.min.js"}},
	} {
		if err := linkTree(t.path(piPackage, beside.from), filepath.Join(to, beside.to), beside.patterns...); err != nil {
			return err
		}
	}
	return link(t.path(photonPackage, "photon_rs_bg.wasm"), filepath.Join(to, "photon_rs_bg.wasm"))
}

// sizeOf adds the sizes of the files below dir, a file with several names once.
func sizeOf(dir string) (int64, error) {
	var total int64
	var seen []os.FileInfo
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > 1<<20 { // the small ones do not matter
			for _, other := range seen {
				if os.SameFile(other, info) {
					return nil
				}
			}
			seen = append(seen, info)
		}
		total += info.Size()
		return nil
	})
	return total, err
}
