package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// ask shows the plan on the controlling terminal and reads an answer there. It is
// errNoTerminal where nobody can be asked.
func (a *app) ask(ctx context.Context, r *reviewed) (bool, error) {
	if a.asked || !isTerminal(a.stdin) {
		return false, errNoTerminal
	}
	tty, err := openTerminal()
	if err != nil {
		return false, errNoTerminal
	}
	defer tty.Close()
	s := newStyle(tty, a.color, a.env)
	io.WriteString(tty, planText(s, r))
	r.shown = true
	fmt.Fprint(tty, "Approve? [y/N] ")
	line, err := answerLine(ctx, tty)
	if err != nil {
		fmt.Fprintln(tty)
		return false, err
	}
	if !strings.HasSuffix(line, "\n") {
		fmt.Fprintln(tty) // the answer was the end of the terminal, which shows nothing
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// answerLine reads one line. The end of the terminal is an empty answer.
func answerLine(ctx context.Context, tty *os.File) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(tty, 4096)).ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
