package main

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// lingering is how long a process stays that should not: much longer than a host
// waits, and not for ever, so that no test can leave one behind.
const lingering = time.Minute

// linger tells on stderr that it begins, for tests that would have to guess.
func linger(a *agent) {
	_, _ = a.errs.Write([]byte("fakeagent: lingering\n"))
	time.Sleep(lingering)
}

// Faults of the process.
var endFaults = []fault{
	{"exit-1", atEOF, exits, "it ends with 1; exit-N with N", exit(1).do},
	{"exit-in-turn", methodPrompt, unsettled, "it ends with 0 in the middle of a turn", func(a *agent, _ *request) (bool, error) {
		a.say("Half of ")
		return true, errExit
	}},
	{"kill", methodPrompt, unsettled, "it dies of SIGKILL in the middle of a turn", dies(syscall.SIGKILL)},
	{"kill-at-end", atEOF, exits, "it dies of SIGTERM when its input ends", dies(syscall.SIGTERM)},
	{"slow-exit", atEOF, fine, "it ends 650 ms after its input", func(*agent, *request) (bool, error) {
		time.Sleep(650 * time.Millisecond)
		return false, nil
	}},
	{"linger", atEOF, lingers, "it does not end with its input", func(a *agent, _ *request) (bool, error) {
		linger(a)
		return false, nil
	}},
	{"stubborn", atStart, lingers, "it ends neither with its input nor for SIGTERM", func(a *agent, _ *request) (bool, error) {
		signal.Ignore(syscall.SIGTERM)
		f, _ := find("linger")
		a.faults = append(a.faults, f)
		return false, nil
	}},
	{"polite", atStart, lingers, "it ends for SIGTERM only, and then with 0", func(a *agent, _ *request) (bool, error) {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		a.faults = append(a.faults, fault{name: "wait for SIGTERM", at: atEOF, do: func(a *agent, _ *request) (bool, error) {
			_, _ = a.errs.Write([]byte("fakeagent: lingering\n"))
			select {
			case <-asked:
			case <-time.After(lingering):
			}
			return false, nil
		}})
		return false, nil
	}},
	{"late-line", atEOF, protocol, "it speaks once its input has ended", func(a *agent, _ *request) (bool, error) {
		a.say("late")
		return false, nil
	}},
	{"orphan", methodPrompt, lingers, "it leaves a child that holds its streams and ignores SIGTERM", func(a *agent, _ *request) (bool, error) {
		child := exec.Command(os.Args[0], "-fault", "stubborn")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		hold, err := child.StdinPipe()
		if err != nil {
			return false, err
		}
		if err := child.Start(); err != nil {
			return false, err
		}
		a.say("child " + strconv.Itoa(child.Process.Pid) + "\n")
		_ = hold // it stays open as long as this process
		return false, nil
	}},
}

func exit(code int) fault {
	return fault{"exit-" + strconv.Itoa(code), atEOF, exits, "", func(a *agent, _ *request) (bool, error) {
		a.code = code
		return false, nil
	}}
}

func dies(s syscall.Signal) func(*agent, *request) (bool, error) {
	return func(*agent, *request) (bool, error) {
		err := syscall.Kill(os.Getpid(), s)
		time.Sleep(lingering) // until it arrives
		return true, err
	}
}
