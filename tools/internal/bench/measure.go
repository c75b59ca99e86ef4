package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/magi-jig/magi-jig/tools/internal/workspace"
)

// Sample is one line that a benchmark printed. It is a value.
type Sample struct {
	NSPerOp     float64
	MBPerSecond float64 // 0 when the benchmark sets no bytes
	BytesPerOp  float64
	AllocsPerOp float64
}

// Outcome is a target with what was measured. It is a value.
type Outcome struct {
	Target Target
	Name   string  // with the sub-benchmark, if any
	Got    float64 // median of the rounds
	Met    bool
}

// String returns one line for people.
func (o Outcome) String() string {
	got := fmt.Sprintf("%.2fx", o.Got)
	switch o.Target.Kind {
	case Allocs:
		got = fmt.Sprintf("%.0f allocs", o.Got)
	case Bytes:
		got = fmt.Sprintf("%.1f KiB", o.Got/1024)
	}
	verdict := "met"
	if !o.Met {
		verdict = "NOT MET"
	}
	return fmt.Sprintf("%-48s %12s   target %-52s %s", o.Name, got, o.Target.Text, verdict)
}

var (
	resultLine = regexp.MustCompile(`^(Benchmark\S+)\s+[0-9]+\s+(.*)$`)
	procs      = regexp.MustCompile(`-[0-9]+$`)
)

// ParseSamples reads what a benchmark run printed, the first line of each name.
func ParseSamples(out string) map[string]Sample {
	samples := map[string]Sample{}
	for line := range strings.Lines(out) {
		m := resultLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		var s Sample
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			n, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break
			}
			switch fields[i+1] {
			case "ns/op":
				s.NSPerOp = n
			case "MB/s":
				s.MBPerSecond = n
			case "B/op":
				s.BytesPerOp = n
			case "allocs/op":
				s.AllocsPerOp = n
			}
		}
		name := procs.ReplaceAllString(m[1], "")
		if _, ok := samples[name]; !ok && s.NSPerOp > 0 {
			samples[name] = s
		}
	}
	return samples
}

// Measure runs the benchmarks of the targets, all of one package, in rounds.
// binary is the package's compiled test, folder the package's.
func Measure(ctx context.Context, binary, folder string, targets []Target, rounds int, benchtime string) ([]Outcome, error) {
	var order []string // every benchmark once, limits right behind what they bound
	for _, t := range targets {
		for _, name := range []string{t.Benchmark, t.Limit} {
			if name != "" && !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
	}
	var all []map[string]Sample
	for range rounds {
		round := map[string]Sample{}
		for _, name := range order {
			out, err := workspace.Run(ctx, folder, nil, binary, "-test.run=^$", "-test.bench=^"+name+"$",
				"-test.benchtime="+benchtime, "-test.benchmem")
			if err != nil {
				return nil, err
			}
			maps.Copy(round, ParseSamples(out))
		}
		all = append(all, round)
	}
	var outcomes []Outcome
	for _, t := range targets {
		found, err := Judge(t, all)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Base(t.File), t.Line, err)
		}
		outcomes = append(outcomes, found...)
	}
	return outcomes, nil
}

// Judge holds a target against the rounds; it returns one outcome for each
// sub-benchmark.
func Judge(t Target, rounds []map[string]Sample) ([]Outcome, error) {
	got := map[string][]float64{}
	for _, round := range rounds {
		for _, name := range sortedKeys(round) {
			s := round[name]
			if name != t.Benchmark && !strings.HasPrefix(name, t.Benchmark+"/") {
				continue
			}
			value, err := compare(t, s, round, strings.TrimPrefix(name, t.Benchmark))
			if err != nil {
				return nil, err
			}
			got[name] = append(got[name], value)
		}
	}
	if len(got) == 0 {
		return nil, fmt.Errorf("%s printed no result", t.Benchmark)
	}
	var outcomes []Outcome
	for _, name := range sortedKeys(got) {
		value := median(got[name])
		met := value <= t.Want
		if t.Kind == Speed {
			met = value >= t.Want
		}
		outcomes = append(outcomes, Outcome{t, name, value, met})
	}
	return outcomes, nil
}

func compare(t Target, s Sample, round map[string]Sample, sub string) (float64, error) {
	switch t.Kind {
	case Allocs:
		return s.AllocsPerOp, nil
	case Bytes:
		return s.BytesPerOp, nil
	}
	limit, ok := round[t.Limit+sub]
	if !ok {
		limit, ok = round[t.Limit]
	}
	if !ok {
		return 0, fmt.Errorf("%s%s printed no result", t.Limit, sub)
	}
	if t.Kind == Time {
		return s.NSPerOp / limit.NSPerOp, nil
	}
	if s.MBPerSecond > 0 && limit.MBPerSecond > 0 {
		return s.MBPerSecond / limit.MBPerSecond, nil
	}
	return limit.NSPerOp / s.NSPerOp, nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
