package engine_test

import (
	"testing"
)

// rule: E-005
func TestEcho(t *testing.T) {
	run(t, flow{files: body(`return { outcome: "done", output: run.input };`), input: `{"a":[1,"é",null,true,1.5]}`}).is(`{"a":[1,"é",null,true,1.5]}`)
}
