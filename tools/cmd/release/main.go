// Command release rehearses the release that versions.yaml describes: it makes
// the module zips, builds, vets and tests each module alone from them, installs
// the commands at their versions, and prints the tags that would be set.
//
//	go run ./tools/cmd/release          the whole rehearsal
//	go run ./tools/cmd/release -notest  without the modules' tests
//	go run ./tools/cmd/release -keep    and leave its folder for a look
//
// It publishes nothing and changes nothing in the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/magi-jig/magi-jig/tools/internal/rehearsal"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

func main() {
	keep := flag.Bool("keep", false, "leave the folder of the rehearsal")
	notest := flag.Bool("notest", false, "build and vet, but run no tests")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "release: %q is no flag\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rehearse(ctx, *keep, !*notest)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func rehearse(ctx context.Context, keep, tests bool) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := workspace.Find(ctx, here)
	if err != nil {
		return err
	}
	work, err := workspace.Load(ctx, root)
	if err != nil {
		return err
	}
	r, err := rehearsal.New(ctx, work)
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("folder", r.Dir)
	} else {
		defer r.Close()
	}
	if err := r.Publish(ctx); err != nil {
		return err
	}
	drift, err := r.Drift(false)
	if err != nil {
		return err
	}
	if len(drift) > 0 {
		return fmt.Errorf("go.mod and go.sum are not what a release would hold:\n%s", strings.Join(drift, "\n"))
	}
	for _, m := range r.Order {
		if err := r.Alone(ctx, m, tests); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		fmt.Println("alone", m.Name)
	}
	commands, err := r.Install(ctx)
	if err != nil {
		return err
	}
	fmt.Println("installed", strings.Join(commands, ", "))
	for _, m := range r.Order {
		fmt.Println("tag", m.Name+"/"+r.Versions.Modules[m.Name])
	}
	return nil
}
