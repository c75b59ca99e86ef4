package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = `package p

import "testing"

// BenchmarkX does x.
//
// target: <= 1.5x BenchmarkX_Limit
// target: >= 0.7x BenchmarkX_Limit
// target: <= 4 allocs, <= 24 KiB/op
func BenchmarkX(b *testing.B) {
	for b.Loop() {
		_ = make([]byte, n)
	}
}

func BenchmarkX_Limit(b *testing.B) {
	for b.Loop() {
	}
}

var n = 10
`

func TestTargetsAreRead(t *testing.T) {
	targets, benchmarks, problems := Targets(map[string][]byte{"p/p_test.go": []byte(source)})
	require.Empty(t, problems)
	require.Equal(t, map[string]bool{"BenchmarkX": true, "BenchmarkX_Limit": true}, benchmarks)
	const file = "p/p_test.go"
	require.Equal(t, []Target{
		{file, 7, "BenchmarkX", Time, 1.5, "BenchmarkX_Limit", "<= 1.5x BenchmarkX_Limit"},
		{file, 8, "BenchmarkX", Speed, 0.7, "BenchmarkX_Limit", ">= 0.7x BenchmarkX_Limit"},
		{file, 9, "BenchmarkX", Allocs, 4, "", "<= 4 allocs"},
		{file, 9, "BenchmarkX", Bytes, 24 * 1024, "", "<= 24 KiB/op"},
	}, targets)
}

func TestTargetsThatCannotBeReadAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"// target: fast":                "p_test.go:2: cannot read the target",
		"// target: 1.5x BenchmarkX":     "cannot read the target",
		"// target: < 1.5x BenchmarkY":   "cannot read the target",
		"// target: >= 4 allocs":         "cannot read the target",
		"// target: <= 1.5x LimitRaw":    "cannot read the target",
		"// target: <= 1.5x BenchmarkY":  "p_test.go:2: no benchmark BenchmarkY in",
		"// target: <= 1.5x BenchmarkX":  "BenchmarkX is compared with itself",
		"// target: <= 4 allocs\n\n// x": "p_test.go:2: a target belongs directly above its benchmark",
	} {
		file := "package p\n" + text + "\nfunc BenchmarkX(b *testing.B) {}\n"
		_, _, problems := Targets(map[string][]byte{"p_test.go": []byte(file)})
		require.Len(t, problems, 1, text)
		require.Contains(t, problems[0], want)
	}
	_, _, problems := Targets(map[string][]byte{"p_test.go": []byte("package")})
	require.NotEmpty(t, problems)
}

func TestParseSamples(t *testing.T) {
	samples := ParseSamples(`goos: linux
BenchmarkX/1KiB-2         	  100	      2000 ns/op	 512.00 MB/s	     24 B/op	       1 allocs/op
BenchmarkX/1KiB-2         	  100	      9000 ns/op	 512.00 MB/s	     24 B/op	       1 allocs/op
BenchmarkY 	  1	      0.5 ns/op
BenchmarkZ-2 	  1	 	7.00 widgets/op
BenchmarkFails-2
PASS
`)
	require.Equal(t, map[string]Sample{
		"BenchmarkX/1KiB": {2000, 512, 24, 1},
		"BenchmarkY":      {NSPerOp: 0.5},
	}, samples)
}

func TestJudgeTakesTheMedianOfTheRoundsRatios(t *testing.T) {
	// The machine got ten times slower in the second round; the ratio did not.
	rounds := []map[string]Sample{
		{"BenchmarkX": {NSPerOp: 100}, "BenchmarkL": {NSPerOp: 100}},
		{"BenchmarkX": {NSPerOp: 1500}, "BenchmarkL": {NSPerOp: 1000}},
		{"BenchmarkX": {NSPerOp: 300}, "BenchmarkL": {NSPerOp: 100}},
	}
	got, err := Judge(Target{Benchmark: "BenchmarkX", Limit: "BenchmarkL", Kind: Time, Want: 1.5}, rounds)
	require.NoError(t, err)
	require.Equal(t, 1.5, got[0].Got)
	require.True(t, got[0].Met)
	got, err = Judge(Target{Benchmark: "BenchmarkX", Limit: "BenchmarkL", Kind: Time, Want: 1.49}, rounds)
	require.NoError(t, err)
	require.False(t, got[0].Met)

	got, err = Judge(Target{Benchmark: "BenchmarkX", Limit: "BenchmarkL", Kind: Speed, Want: 0.6}, rounds)
	require.NoError(t, err)
	require.InDelta(t, 1/1.5, got[0].Got, 1e-9)
	require.True(t, got[0].Met)

	require.Equal(t, 1.5, median([]float64{2, 1}))
}

func TestJudgePairsSubBenchmarks(t *testing.T) {
	rounds := []map[string]Sample{{
		"BenchmarkX/1":  {NSPerOp: 2, MBPerSecond: 50, AllocsPerOp: 3, BytesPerOp: 2048},
		"BenchmarkX/2":  {NSPerOp: 8, MBPerSecond: 100},
		"BenchmarkXY":   {NSPerOp: 99},
		"BenchmarkL/1":  {NSPerOp: 1, MBPerSecond: 100},
		"BenchmarkL":    {NSPerOp: 2, MBPerSecond: 100},
		"BenchmarkNone": {NSPerOp: 2},
	}}
	got, err := Judge(Target{Benchmark: "BenchmarkX", Limit: "BenchmarkL", Kind: Time, Want: 3}, rounds)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, 2.0, got[0].Got, "with the limit of its name")
	require.Equal(t, 4.0, got[1].Got, "with the one limit")
	got, err = Judge(Target{Benchmark: "BenchmarkX", Limit: "BenchmarkL", Kind: Speed, Want: 1, Text: ">= 1x BenchmarkL"}, rounds)
	require.NoError(t, err)
	require.Equal(t, 0.5, got[0].Got, "bytes a second, where both report them")
	require.Contains(t, got[0].String(), "NOT MET")
	require.Contains(t, got[1].String(), "1.00x")
	got, err = Judge(Target{Benchmark: "BenchmarkX", Kind: Allocs, Want: 3}, rounds)
	require.NoError(t, err)
	require.True(t, got[0].Met)
	require.Contains(t, got[0].String(), "3 allocs")
	got, err = Judge(Target{Benchmark: "BenchmarkX", Kind: Bytes, Want: 2047}, rounds)
	require.NoError(t, err)
	require.False(t, got[0].Met)
	require.Contains(t, got[0].String(), "2.0 KiB")

	_, err = Judge(Target{Benchmark: "BenchmarkGone"}, rounds)
	require.ErrorContains(t, err, "BenchmarkGone printed no result")
	_, err = Judge(Target{Benchmark: "BenchmarkX", Limit: "BenchmarkGone", Kind: Time}, rounds)
	require.ErrorContains(t, err, "BenchmarkGone/1 printed no result")
}

func TestMeasureRunsACompiledPackage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module p\n\ngo 1.26.0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p_test.go"), []byte(source), 0o644))
	cmd := exec.Command("go", "test", "-c", "-o", "p.test", ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	targets, _, problems := Targets(map[string][]byte{"p_test.go": []byte(source)})
	require.Empty(t, problems)
	outcomes, err := Measure(t.Context(), filepath.Join(dir, "p.test"), dir, targets, 2, "10x")
	require.NoError(t, err)
	require.Len(t, outcomes, 4)
	require.Positive(t, outcomes[0].Got)
	require.LessOrEqual(t, outcomes[2].Got, 1.0)

	_, err = Measure(t.Context(), filepath.Join(dir, "none.test"), dir, targets, 1, "1x")
	require.Error(t, err)
}
