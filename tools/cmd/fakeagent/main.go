// Command fakeagent is an agent that speaks the Agent Client Protocol on its
// standard streams, one JSON object a line, and commits on request every fault
// that a host of finite conversations must survive.
//
//	fakeagent                            a well-behaved agent
//	fakeagent -fault NAME[,NAME...]      one with faults
//	fakeagent -list                      the faults, where each strikes, and what a host makes of it
//
// A fault strikes once. One that strikes in a prompt can be asked for by the
// prompt's text instead: a line FAULT NAME in it. A prompt's text also takes SLOW,
// which answers in the moment of a cancel, and ECHO TEXT; anything else is answered
// with its own words.
//
// The agent offers resume and close, two options (model and web) and the modes
// read-only and agent. It reads no file, makes no connection and starts nothing,
// except for the fault orphan, whose child ends itself after a minute.
//
// With no fault it exits with 0 when its standard input ends; with 2 for a mistake
// on its command line.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fakeagent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	names := flags.String("fault", "", "commit these `faults`, separated by commas")
	list := flags.Bool("list", false, "print the faults")
	pieces := flags.Int("pieces", 0, "write at most so many `bytes` at once; 0 writes whole lines")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 || *pieces < 0 {
		fmt.Fprintln(stderr, "fakeagent: it takes no arguments, and a positive number of bytes")
		return 2
	}
	if *list {
		print(stdout)
		return 0
	}
	a := newAgent(stdin, stdout, stderr, *pieces)
	if *names != "" {
		for name := range strings.SplitSeq(*names, ",") {
			f, ok := find(name)
			if !ok {
				fmt.Fprintf(stderr, "fakeagent: no fault is called %q; -list prints them\n", name)
				return 2
			}
			a.faults = append(a.faults, f)
		}
	}
	return a.serve()
}

func print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range faults {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.name, f.at, f.want, f.what)
	}
	t.Flush()
}
