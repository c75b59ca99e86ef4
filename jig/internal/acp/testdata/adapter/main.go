// Command adapter stands in for jig's adapter in a real scope: it reads a launch
// frame, reports to the host, and has one short conversation. What it does beside
// that is the frame's first argument.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

func main() { os.Exit(adapter()) }

func adapter() int {
	in := bufio.NewReader(os.Stdin)
	f, err := launch.Read(in)
	if err != nil {
		return 70
	}
	host, err := launch.NewReporter(3)
	if err != nil {
		return 71
	}
	how := f.Argv[0]
	if f.Retain {
		folder, err := os.Open("/codex/sessions")
		if err != nil || host.Sessions(folder) != nil {
			return 72
		}
		name := filepath.Join("/codex/sessions", "history")
		if os.WriteFile(name, []byte("what was said\n"), 0o600) != nil {
			return 73
		}
	}
	if host.Started(os.Getpid()) != nil {
		return 74
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		id := between(line, `"id":`, ",")
		switch {
		case strings.Contains(line, `"initialize"`):
			if how == "vanishes" {
				return 0
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{},"resume":{}}}}}`+"\n", id)
		case strings.Contains(line, `"session/new"`):
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":%q}}`+"\n", id, "0195f3a2-0000-7000-8000-000000000001")
		case strings.Contains(line, `"session/prompt"`):
			if how == "hangs" {
				select {}
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`+"\n", id)
		}
	}
	zero, term := 0, "SIGTERM"
	end := launch.Exit{Code: &zero}
	if how == "stays" {
		<-host.Terminate()
		end = launch.Exit{Signal: &term, Terminated: true}
	}
	if how == "fails" {
		host.Failed(launch.Auth)
	}
	if host.Exited(end) != nil {
		return 75
	}
	return 0
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}
