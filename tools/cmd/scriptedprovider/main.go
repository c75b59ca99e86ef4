// Command scriptedprovider serves a scripted model on loopback, for trying an
// application without a model and without a key.
//
//	scriptedprovider              say the same few words to every request
//	scriptedprovider FILE         serve the script in FILE
//	scriptedprovider -            serve the script on standard input
//	scriptedprovider -by-text     choose each reply by the last words of the user
//
// It speaks OpenAI Chat Completions, OpenAI Responses and Anthropic Messages, as
// the path of a request asks. Its first line on standard output is the base URL
// to configure. With -json it is an object instead:
//
//	url        the base URL of OpenAI's formats; it ends in /v1
//	origin     the same without /v1, which is the base URL of Anthropic's
//	authority  with -tls: the file of the certificate to trust
//
// With -tls it serves https, with a certificate for loopback by an authority made
// for this run; the file with the authority's certificate is removed at the end.
//
// With -log FILE every request is appended to FILE before it is answered, as one
// line of JSON, credentials and body included:
//
//	{"number":1,"at":...,"method":"POST","path":"/v1/responses","query":"","header":{...},"body":"...","status":200}
//
// and one more when its reply has ended, {"number":1,"ended":...,"hungUp":false}.
// With -requests requests are printed on standard error, for people.
//
// It serves until it is interrupted or terminated, with -with-stdin also until
// its standard input ends, 4,096 requests at most. What a script may say, and
// what -by-text understands, is told by the documentation of the package:
//
//	go doc github.com/magi-jig/magi-jig/magid/scripted.Parse
//	go doc github.com/magi-jig/magi-jig/magid/scripted.ByText
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

// settings are the command line.
type settings struct {
	file      string
	byText    bool
	tls       bool
	json      bool
	log       string
	requests  bool
	withStdin bool
}

// run returns the exit code: 0 when it was told to end, 1 when it could not
// serve, 2 for a mistake on the command line.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("scriptedprovider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var set settings
	flags.BoolVar(&set.byText, "by-text", false, "choose each reply by the last words of the user")
	flags.BoolVar(&set.tls, "tls", false, "serve https, with an authority made for this run")
	flags.BoolVar(&set.json, "json", false, "print the addresses as one JSON object")
	flags.StringVar(&set.log, "log", "", "append every request to this `file`, one JSON object a line")
	flags.BoolVar(&set.requests, "requests", false, "print every request on standard error")
	flags.BoolVar(&set.withStdin, "with-stdin", false, "end when standard input ends")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: scriptedprovider [-tls] [-json] [-log FILE] [-requests] [-with-stdin] [-by-text|FILE|-]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	set.file = flags.Arg(0)
	if flags.NArg() > 1 || set.byText && flags.NArg() > 0 || set.withStdin && set.file == "-" {
		flags.Usage()
		return 2
	}
	if err := serve(ctx, set, stdin, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "scriptedprovider:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, set settings, stdin io.Reader, stdout, stderr io.Writer) error {
	o := scripted.Options{TLS: set.tls}
	if set.byText {
		o.Respond = scripted.ByText
	} else {
		text, err := read(set.file, stdin)
		if err != nil {
			return err
		}
		if o.Script, err = scripted.Parse(text); err != nil {
			return err
		}
	}
	log := &scripted.Log{}
	if set.log != "" {
		f, err := os.OpenFile(set.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		log = scripted.NewLog(f)
		o.Record = log.Record
	}
	server, err := scripted.Start(o)
	if err != nil {
		return err
	}
	defer func() {
		server.Close()
		log.Wait()
	}()
	authority := ""
	if set.tls {
		if authority, err = keep(server.Authority()); err != nil {
			return err
		}
		defer os.Remove(authority)
	}
	line := server.URL()
	if set.json {
		line = server.Addresses(authority)
	}
	if _, err := fmt.Fprintln(stdout, line); err != nil {
		return err
	}
	if set.withStdin {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		go func() {
			io.Copy(io.Discard, stdin)
			stop()
		}()
	}
	for {
		r, err := server.Next(ctx)
		if ctx.Err() != nil {
			return log.Err()
		}
		if err != nil {
			return err
		}
		if set.requests {
			fmt.Fprintf(stderr, "%d %s %s %d\n%s\n", r.Number, r.Method, r.Path, r.Status, r.Body)
		}
	}
}

// keep writes the authority's certificate where others can read it.
func keep(certificate []byte) (file string, err error) {
	f, err := os.CreateTemp("", "scripted-authority-*.pem")
	if err != nil {
		return "", err
	}
	_, err = f.Write(certificate)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
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
