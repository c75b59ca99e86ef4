package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// rule: E-005
func TestEcho(t *testing.T) {
	run(t, flow{files: body(`return { outcome: "done", output: run.input };`), input: `{"a":[1,"é",null,true,1.5]}`}).is(`{"a":[1,"é",null,true,1.5]}`)
}

func TestARejectionThatNobodyHandlesEndsTheFlow(t *testing.T) {
	e := run(t, flow{files: body(`void (async () => { throw new Error("lost"); })(); await new Promise(() => {});`)})
	e.fails(fault.ExecutionFailed)
	require.Equal(t, 1, e.status)
	require.Equal(t, "Error: lost\n    at FLOW.ts:2:60\n    at FLOW.ts:2:75\n", e.text)
	run(t, flow{files: body(`const p = Promise.reject(new Error("in time")); await null; p.catch(() => {}); return { outcome: "done", output: 1 };`)}).is("1")
}
