// Command companion is a small application of magid: it lends the model a tool that writes notes and a skill that says
// when to use it, and keeps its word when it dies in between.
//
// What makes it safe to die is the order of things. The executor's proof is on the disk before it is confirmed; that a
// call has begun is on the disk before the tool acts; what came of it is on the disk before it is handed in. So whoever
// starts the companion again finds out for each call whether the tool ran, may have run or never did, and no call is run
// a second time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

func main() {
	workspace := flag.String("workspace", "", "the `folder` of the session, with add_note.json and manners.md in it")
	state := flag.String("state", "", "the `file` for what must not be lost (default: ~/.local/state/magi-companion.json)")
	crash := flag.String("crash", "", "die `before` or after the tool acts, to see what happens")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: companion -workspace FOLDER [-state FILE] [-crash before|after] [PROMPT]\n"+
			"Without PROMPT it goes on with what an earlier run left open.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *workspace == "" || flag.NArg() > 1 || *crash != "" && *crash != "before" && *crash != "after" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *workspace, *state, *crash, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "companion:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, workspace, file, crash, prompt string) error {
	a, err := newApp(workspace, file, crash)
	if err != nil {
		return err
	}
	switch open := a.kept.Session != ""; {
	case open && prompt != "":
		return fmt.Errorf("an earlier run left something open: start without a prompt to go on with it, or delete %s", a.file)
	case !open && prompt == "":
		return errors.New("nothing was left open: say something")
	}
	path, err := client.SocketPath(os.Getenv)
	if err != nil {
		return err
	}
	a.c, err = client.Dial(ctx, path, client.Options{
		Name: "companion", Version: "1", Capabilities: []wirev2.Capability{wirev2.CapabilityApplicationResources},
	})
	if err != nil {
		return err
	}
	defer a.c.Close()
	if !a.c.Negotiated(wirev2.CapabilityApplicationResources) {
		return errors.New("this daemon takes no tools from applications")
	}
	if prompt == "" {
		return a.resume(ctx)
	}
	return a.start(ctx, prompt)
}
