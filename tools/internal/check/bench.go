package check

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/bench"
	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// benchPackage is a folder whose tests define benchmarks.
type benchPackage struct {
	folder  string // slash-separated, below the root
	targets []bench.Target
}

func benchPackages(e *Env) ([]benchPackage, Problems, error) {
	files, err := goFiles(e)
	if err != nil {
		return nil, nil, err
	}
	tests := map[string]map[string][]byte{}
	var folders []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		folder := path.Dir(file)
		if tests[folder] == nil {
			tests[folder] = map[string][]byte{}
			folders = append(folders, folder)
		}
		if tests[folder][file], err = workspace.Read(e.Work.Root, file); err != nil {
			return nil, nil, err
		}
	}
	var packages []benchPackage
	var p Problems
	slices.Sort(folders)
	for _, folder := range folders {
		targets, benchmarks, problems := bench.Targets(tests[folder])
		p = append(p, problems...)
		if len(benchmarks) > 0 {
			packages = append(packages, benchPackage{folder, targets})
		}
	}
	return packages, p, nil
}

// benchOnce runs every benchmark one time: it must work, not be fast.
func benchOnce(ctx context.Context, e *Env) (string, error) {
	packages, p, err := benchPackages(e)
	if err != nil || len(p) > 0 {
		return "", orProblems(err, p)
	}
	if len(packages) == 0 {
		return "no benchmarks", nil
	}
	args := []string{"test", "-trimpath", "-run=^$", "-bench=.", "-benchtime=1x"}
	targets := 0
	for _, b := range packages {
		args = append(args, "./"+b.folder)
		targets += len(b.targets)
	}
	_, err = workspace.Go(ctx, e.Work.Root, nil, args...)
	return fmt.Sprintf("%d packages, %d targets", len(packages), targets), err
}

func orProblems(err error, p Problems) error {
	if err != nil {
		return err
	}
	return p.Err()
}

// Ratios measures every target and prints how it stands. Where a target is not
// met it says so; that is no failure, because a shared machine proves nothing.
func Ratios(ctx context.Context, e *Env, rounds int, benchtime string) error {
	packages, p, err := benchPackages(e)
	if err != nil || len(p) > 0 {
		return orProblems(err, p)
	}
	temp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	met, all := 0, 0
	for _, b := range packages {
		if len(b.targets) == 0 {
			continue
		}
		binary := filepath.Join(temp, strings.ReplaceAll(b.folder, "/", "-")+".test")
		if _, err := workspace.Go(ctx, e.Work.Root, nil, "test", "-trimpath", "-c", "-o", binary, "./"+b.folder); err != nil {
			return err
		}
		fmt.Fprintln(e.Out, b.folder)
		outcomes, err := bench.Measure(ctx, binary, filepath.Join(e.Work.Root, filepath.FromSlash(b.folder)), b.targets, rounds, benchtime)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			fmt.Fprintln(e.Out, "  "+o.String())
			all++
			if o.Met {
				met++
			}
		}
	}
	fmt.Fprintf(e.Out, "%d of %d targets met\n", met, all)
	return nil
}
