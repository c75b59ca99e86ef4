// Command check makes the checks that the project's CI makes.
//
//	go run ./tools/cmd/check                  every check, the race tests last
//	go run ./tools/cmd/check -run vet,tidy    some
//	go run ./tools/cmd/check -skip test,alone all but some
//	go run ./tools/cmd/check -write           mend what can be mended by rule
//	go run ./tools/cmd/check -bench           measure benchmarks against their limits
//	go run ./tools/cmd/check -long            the whole suites
//	go run ./tools/cmd/check -list            what there is
//
// It prints one line for each check, and below it what is wrong. When tests ran,
// its last line is their count. It exits with 0 when nothing is wrong, 1 when
// something is, and 2 for a mistake on its command line.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/magi-jig/magi-jig/tools/internal/check"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	only := flag.String("run", "", "make only these `checks`, separated by commas")
	skip := flag.String("skip", "", "leave these `checks` out, separated by commas")
	write := flag.Bool("write", false, "mend formatting, fixes, go.mod, go.sum and generated pages")
	long := flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suites")
	ratios := flag.Bool("bench", false, "measure benchmarks against the limits beside them, and nothing else")
	rounds := flag.Int("rounds", 5, "with -bench: how often each pair is measured")
	benchtime := flag.String("benchtime", "0.3s", "with -bench: how long each benchmark runs a round")
	list := flag.Bool("list", false, "print the checks and what they hold")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "check: %q is no flag\n", flag.Arg(0))
		return 2
	}
	all := check.All()
	if *list {
		for _, c := range all {
			fmt.Printf("%-10s %s\n", c.Name, c.What)
		}
		return 0
	}
	chosen, err := check.Select(all, *only, *skip)
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		return 2
	}
	env, err := environment(ctx, all)
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		return 1
	}
	env.Write, env.Long = *write, *long
	if *ratios {
		if err := check.Ratios(ctx, env, *rounds, *benchtime); err != nil {
			fmt.Fprintln(os.Stderr, "check:", err)
			return 1
		}
		return 0
	}
	return report(env, check.Run(ctx, env, chosen))
}

func environment(ctx context.Context, all []check.Check) (*check.Env, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	root, err := workspace.Find(ctx, here)
	if err != nil {
		return nil, err
	}
	work, err := workspace.Load(ctx, root)
	if err != nil {
		return nil, err
	}
	except, err := check.ReadExceptions(root, all)
	if err != nil {
		return nil, err
	}
	return &check.Env{Work: work, Out: os.Stdout, Except: except}, nil
}

// report prints what failed and, last, the count of the tests, which is a line
// that every CI can read.
func report(env *check.Env, failed []string) int {
	if len(failed) > 0 {
		fmt.Println("failed:", strings.Join(failed, ", "))
	}
	if counts, ok := env.Counts(); ok {
		line := fmt.Sprintf("%d passed, %d failed", counts.Passed, counts.Failed)
		if counts.Skipped > 0 {
			line += fmt.Sprintf(", %d skipped", counts.Skipped)
		}
		fmt.Println(line)
	}
	if len(failed) > 0 {
		return 1
	}
	return 0
}
