package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// killedWhileItStarts starts jig and kills it at the moment at which bubblewrap
// has made a scope's first process.
func killedWhileItStarts(p *place, args ...string) {
	p.t.Helper()
	cmd := p.command(args...)
	require.NoError(p.t, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		cmd.Wait()
	}()
	for {
		select {
		case <-done:
			return // it was faster
		default:
		}
		if slices.ContainsFunc(children(cmd.Process.Pid), func(pid int) bool { return len(children(pid)) > 0 }) {
			break
		}
	}
	cmd.Process.Kill()
	<-done
}

// children are those of all threads of a process.
func children(pid int) (all []int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// Bubblewrap that dies between making a scope's first process and letting it go on
// leaves that process for ever; whoever comes next ends it.
//
// rule: J-119, J-128
func TestTheNextCommandEndsWhatAKilledStartLeft(t *testing.T) {
	p := reviewed(t, map[string]string{"flows/hello/FLOW.ts": hello})
	review, err := os.Stat(filepath.Join(p.dir, ".jig", "review.lock"))
	require.NoError(t, err)
	for i := range 3 {
		killedWhileItStarts(p, "run", "flow:flows/hello")
		folders, err := filepath.Glob(filepath.Join(p.dir, ".jig", "runs", "*", "scope.lock"))
		require.NoError(t, err)
		var locks []os.FileInfo
		for _, f := range folders {
			info, err := os.Stat(f)
			require.NoError(t, err)
			locks = append(locks, info)
		}
		p.jig("runs").is(0)
		for _, lock := range locks {
			require.Empty(t, holdersOf(t, lock))
		}

		p.write(map[string]string{"flows/hello/FLOW.ts": hello + strings.Repeat("//\n", i)})
		killedWhileItStarts(p, "review", "--yes")
		p.jig("review", "--yes").is(0)
		require.Empty(t, holdersOf(t, review))
	}
	require.Contains(t, p.jig("run", "flow:flows/hello").is(0).stdout, "Hello, world!")
}
