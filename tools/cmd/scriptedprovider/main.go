// Command scriptedprovider serves a scripted model on loopback, for trying an
// application without a model and without a key.
//
//	scriptedprovider              say the same few words to every request
//	scriptedprovider FILE         serve the script in FILE
//	scriptedprovider -            serve the script on standard input
//
// Its first line on standard output is the base URL to configure. With -requests
// every request is printed on standard error, with the status of its reply. It
// serves until it is interrupted or terminated, 4,096 requests at most. What a
// script may say is told by the documentation of the package:
//
//	go doc github.com/magi-jig/magi-jig/magid/scripted.Parse
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

//go:embed hello.script
var hello []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 when it was told to end, 1 when it could not
// serve, 2 for a mistake on the command line.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("scriptedprovider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	requests := flags.Bool("requests", false, "print every request on standard error")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: scriptedprovider [-requests] [FILE|-]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 1 {
		flags.Usage()
		return 2
	}
	if err := serve(ctx, flags.Arg(0), *requests, stdin, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "scriptedprovider:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, file string, requests bool, stdin io.Reader, stdout, stderr io.Writer) error {
	text, err := read(file, stdin)
	if err != nil {
		return err
	}
	script, err := scripted.Parse(text)
	if err != nil {
		return err
	}
	server, err := scripted.Start(scripted.Options{Script: script})
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := fmt.Fprintln(stdout, server.URL()); err != nil {
		return err
	}
	for {
		r, err := server.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if requests {
			fmt.Fprintf(stderr, "%d %s %s %d\n%s\n", r.Number, r.Method, r.Path, r.Status, r.Body)
		}
	}
}

// read returns the script; it reads one byte more than a script may have, so
// that Parse refuses what is too long.
func read(file string, stdin io.Reader) ([]byte, error) {
	switch file {
	case "":
		return hello, nil
	case "-":
		return io.ReadAll(io.LimitReader(stdin, scripted.MaxScriptBytes+1))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, scripted.MaxScriptBytes+1))
}
