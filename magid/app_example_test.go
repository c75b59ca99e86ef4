package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/scripted"
	"github.com/magi-jig/magi-jig/wirev2"
)

// examples are the companions that are shipped as examples: command lines to put arguments to.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "companion")
	out, err := exec.Command("go", "build", "-o", program, "./examples/companion").CombinedOutput()
	require.NoError(t, err, string(out))
	node, err := exec.LookPath("node")
	require.NoError(t, err, "tools/setup installs it")
	script, err := filepath.Abs("examples/companion-node/companion.mjs")
	require.NoError(t, err)
	return map[string][]string{"go": {program}, "node": {node, script}}
}

// companion runs an example to its end.
func (p *place) companion(command []string, arguments ...string) ran {
	p.t.Helper()
	arguments = append([]string{"--workspace", p.workspace, "--state", filepath.Join(p.dir, "private", "companion.json")}, arguments...)
	cmd := exec.CommandContext(p.t.Context(), command[0], append(append([]string{}, command[1:]...), arguments...)...)
	cmd.Env = p.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(p.t, err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// exampleWorkspace copies the workspace of the examples.
func (p *place) exampleWorkspace() {
	p.t.Helper()
	for _, name := range []string{"add_note.json", "manners.md"} {
		content, err := os.ReadFile(filepath.Join("examples", "workspace", name))
		require.NoError(p.t, err)
		p.write(name, string(content))
	}
}

// journalRecords are the records of the place's one session.
func (p *place) journalRecords() []wirev2.Record {
	p.t.Helper()
	paths, err := filepath.Glob(filepath.Join(p.state, "sessions", "*", "journal.jsonl"))
	require.NoError(p.t, err)
	require.Len(p.t, paths, 1)
	text, err := os.ReadFile(paths[0])
	require.NoError(p.t, err)
	var records []wirev2.Record
	for line := range strings.Lines(string(text)) {
		record, err := wirev2.DecodeRecord([]byte(line))
		require.NoError(p.t, err)
		records = append(records, record)
	}
	return records
}

func ofType[T any](records []wirev2.Record) (out []T) {
	for _, record := range records {
		if r, ok := record.(T); ok {
			out = append(out, r)
		}
	}
	return out
}

// rule: A-163
func TestExamplesKeepTheirWordWhenTheyDieBetweenDispatchAndResult(t *testing.T) {
	t.Parallel()
	for language, command := range examples(t) {
		for _, c := range []struct {
			crash, notes, result string
			effects              wirev2.Effects
		}{
			{"", "\"three geese\"\n", `{"lines":1}`, wirev2.EffectsReported},
			{"after", "\"three geese\"\n", `{"lines":1}`, wirev2.EffectsReported},
			{"before", "", "execution_failed the companion died while the tool acted: the note may be there or not", wirev2.EffectsReported},
		} {
			t.Run(language+" "+c.crash, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.exampleWorkspace()
				model := p.model(noteCall("call_1", "three geese"), scripted.TextReply("Noted."))
				p.serve()
				kept := filepath.Join(p.dir, "private", "companion.json")
				arguments := []string{"Note three geese."}
				if c.crash != "" {
					arguments = append([]string{"--crash", c.crash}, arguments...)
				}
				r := p.companion(command, arguments...)
				if c.crash != "" {
					require.Equal(t, -1, r.code, "killed: %s", r.stderr)
					info, err := os.Stat(kept)
					require.NoError(t, err)
					require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "the proof is for its owner alone")
					require.Empty(t, r.stdout)
					require.Len(t, model.Requests(), 1)
					require.Contains(t, p.companion(command, "Something else.").stderr, "left something open")
					r = p.companion(command)
				}
				require.Zero(t, r.code, r.stderr)
				require.Equal(t, "Noted.\n", r.stdout)
				require.Equal(t, c.notes, p.read("notes.txt"), "the effect is there once, or not at all")
				status := "succeeded"
				if c.crash == "before" {
					status = "failed"
				}
				require.Contains(t, r.stderr, fmt.Sprintf("add_note: %s, effects %s", status, c.effects))
				require.NoFileExists(t, kept)
				require.Contains(t, p.companion(command).stderr, "nothing was left open")

				records := p.journalRecords()
				require.Len(t, ofType[*wirev2.ToolCallRecord](records), 1, "one call")
				results := ofType[*wirev2.ToolResultRecord](records)
				require.Len(t, results, 1, "one result")
				require.False(t, results[0].Synthetic)
				require.Equal(t, c.result, shownResult(results[0]))
				require.Len(t, model.Requests(), 2)
				contracts := ofType[*wirev2.ToolContractRecord](records)
				require.Len(t, contracts, 1)
				require.EqualValues(t, 60000, contracts[0].TimeoutMS)
			})
		}
	}
}

func shownResult(r *wirev2.ToolResultRecord) string {
	if r.Code != nil {
		return string(*r.Code) + " " + *r.Message
	}
	return string(r.Value)
}

func TestExamplesSayThatADaemonStartedAnewKnowsNothingOfThem(t *testing.T) {
	t.Parallel()
	for language, command := range examples(t) {
		p := newPlace(t)
		p.exampleWorkspace()
		p.model(noteCall("call_1", "three geese"))
		p.serve()
		require.Equal(t, -1, p.companion(command, "--crash", "after", "Note three geese.").code, language)
		require.Zero(t, p.run("stop").code)
		p.serve()
		r := p.companion(command)
		require.Equal(t, 1, r.code, language)
		require.Contains(t, r.stderr, "started anew", language)
		require.NoFileExists(t, filepath.Join(p.dir, "private", "companion.json"))
		require.Equal(t, "\"three geese\"\n", p.read("notes.txt"))
	}
}

func TestExamplesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for language, command := range examples(t) {
		p := newPlace(t)
		require.Contains(t, p.companion(command).stderr, "nothing was left open", language)
		require.Equal(t, 1, p.companion(command, "x").code, "%s: no daemon", language)
		p.serve()
		r := p.companion(command, "x")
		require.Equal(t, 1, r.code, language)
		require.Contains(t, r.stderr, "invalid_payload: source:", "%s: the files are not there", language)
	}
}
