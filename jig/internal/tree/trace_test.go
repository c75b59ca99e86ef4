package tree_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/tree"
)

func channelFile(id, item string) string {
	return `{"$schema":"` + contract.ChannelSchema + `","id":"https://example.org/` + id + `","version":"1.0.0","semantics":"s","item":` + item + `}`
}

var datasetFiles = map[string]string{
	"contract.json": invocationHead + `,"id":"https://example.org/dataset","version":"1.0.0","channels":{
		"requests":{"direction":"receive","contract":"./requests.json"},"replies":{"direction":"send","contract":"./replies.json"}}}`,
	"requests.json": channelFile("request", `{"required":["sample"]}`),
	"replies.json":  channelFile("reply", `{"required":["sample","celsius"]}`),
}

func under(dir string, more map[string]string) map[string]string {
	all := map[string]string{}
	for name, content := range datasetFiles {
		all[dir+name] = content
	}
	maps.Copy(all, more)
	return all
}

// dataset answers requests for samples until they end. It never closes its
// writer: the host does that for a Flow that succeeds.
func dataset(samples []int) component {
	return func(c *peer) int {
		in, out := field(c.run, "channels", "requests", "endpoint"), field(c.run, "channels", "replies", "endpoint")
		require.Equal(c.t, "1", field(c.run, "channels", "requests", "startSequence"))
		require.Equal(c.t, "send", field(c.run, "channels", "replies", "direction"))
		served := []string{}
		for {
			got := c.do("channel/next", fmt.Sprintf(`{"endpoint":%q}`, in))
			if strings.Contains(got, `"end"`) {
				require.JSONEq(c.t, fmt.Sprintf(`{"end":{"lastSequence":%d}}`, len(served)), got)
				break
			}
			sample := field([]byte(got), "item", "value", "sample")
			var n int
			fmt.Sscanf(sample, "s%d", &n)
			served = append(served, sample)
			require.Equal(c.t, "null", c.do("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":{"sample":%q,"celsius":%d}}`, out, sample, samples[n])))
		}
		b, _ := json.Marshal(served)
		return c.done(`{"served":` + string(b) + `}`)
	}
}

// analyst finds the first sample of at least 30 by halving.
func analyst(c *peer) int {
	var made struct {
		Send struct {
			Endpoint string `json:"endpoint"`
		} `json:"send"`
		Receive struct {
			Endpoint string `json:"endpoint"`
		} `json:"receive"`
	}
	create := func(name string) (send, receive string) {
		got := c.do("channel/create", `{"contract":{"slot":"dataset","channel":"`+name+`"}}`)
		require.NoError(c.t, json.Unmarshal([]byte(got), &made, json.RejectUnknownMembers(false)), got)
		require.Contains(c.t, got, `"id":"https://example.org/`)
		return made.Send.Endpoint, made.Receive.Endpoint
	}
	requests, theirs := create("requests")
	replies, mine := create("replies")
	call := c.ask("flow/call", fmt.Sprintf(`{"operationId":"dataset:1","slot":"dataset","input":{},"channels":{"requests":%q,"replies":%q}}`, theirs, replies))
	asked := []string{}
	celsius, crossing := 0, ""
	query := func(n int) int {
		sample := fmt.Sprintf("s%d", n)
		asked = append(asked, sample)
		// The send may well come before the callee's process exists.
		require.Equal(c.t, "null", c.do("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":{"sample":%q}}`, requests, sample)))
		got := c.do("channel/next", fmt.Sprintf(`{"endpoint":%q}`, mine))
		fmt.Sscan(field([]byte(got), "item", "value", "celsius"), &celsius)
		return celsius
	}
	low, high := 0, 8
	for low < high {
		if middle := (low + high) / 2; query(middle) >= 30 {
			high, crossing = middle, fmt.Sprintf("s%d/%d", middle, celsius)
		} else {
			low = middle + 1
		}
	}
	closing := c.ask("channel/close", fmt.Sprintf(`{"endpoint":%q}`, requests))
	end := c.ask("channel/next", fmt.Sprintf(`{"endpoint":%q}`, mine))
	answers := map[string]jsontext.Value{}
	for len(answers) < 3 { // they come in any order
		f, err := c.recv()
		require.NoError(c.t, err)
		answers[f.ID] = f.Result
	}
	require.Equal(c.t, "null", string(answers[closing]))
	require.JSONEq(c.t, fmt.Sprintf(`{"end":{"lastSequence":%d}}`, len(asked)), string(answers[end]))
	require.Equal(c.t, `{"status":"ended","lastSequence":3}`, canonicalStatus(c.do("channel/release", fmt.Sprintf(`{"endpoint":%q}`, mine))))
	return c.done(fmt.Sprintf(`{"asked":%q,"crossing":%q,"served":%s}`, strings.Join(asked, ","), crossing, answers[call]))
}

func canonicalStatus(raw string) string {
	return fmt.Sprintf(`{"status":%q,"lastSequence":%s}`, field([]byte(raw), "status"), field([]byte(raw), "lastSequence"))
}

func TestTwoChannelsMoveInOneCall(t *testing.T) {
	// rule
	samples := []int{17, 19, 23, 26, 31, 37, 44, 52}
	for _, c := range []struct {
		fourth          int
		asked, crossing string
	}{{31, "s4,s2,s3", "s4/31"}, {29, "s4,s6,s5", "s5/37"}} {
		samples[4] = c.fourth
		w := newWorld(t)
		child := w.flow("dataset", dataset(samples), under("", map[string]string{"FLOW.contract.json": datasetFiles["contract.json"]}), nil)
		parent := w.flow("analyst", analyst, under("contracts/", map[string]string{
			"FLOW.meta.json": `{"name":"analyst","uses":{"dataset":{"contract":"./contracts/contract.json"}}}`,
		}), map[string]tree.Slot{"dataset": {Target: child}})
		served := `["` + strings.ReplaceAll(c.asked, ",", `","`) + `"]`
		w.succeeds(w.run(parent), fmt.Sprintf(`{"asked":%q,"crossing":%q,"served":{"outcome":"done","output":{"served":%s}}}`, c.asked, c.crossing, served))
	}
}

func TestChannelCreateResolvesBeforeItAllocates(t *testing.T) {
	// rule
	w := newWorld(t)
	target := w.flow("maker", func(c *peer) int {
		for _, params := range []string{
			`{"schema":{"pattern":"x"}}`, `{"contract":"./absent.json"}`, `{"contract":"./contract.json"}`, `{"contract":"./../x.json"}`,
			`{"contract":"./` + strings.Repeat("x", 1025) + `"}`, `{"contract":{"slot":"absent","channel":"requests"}}`,
			`{"contract":{"slot":"dataset","channel":"absent"}}`, `{"contract":{"slot":"free","channel":"requests"}}`,
		} {
			require.Equal(c.t, "INVALID_INPUT", c.do("channel/create", params), params)
		}
		for range 16 { // nothing was allocated before
			got := c.do("channel/create", `{"contract":"./contracts/requests.json"}`)
			digest := field([]byte(got), "send", "contract", "digest")
			require.Regexp(c.t, `^sha256:[0-9a-f]{64}$`, digest)
		}
		return c.done(`1`)
	}, under("contracts/", map[string]string{
		"contract.json":  `{}`,
		"FLOW.meta.json": `{"name":"maker","uses":{"dataset":{"contract":"./contracts/contract.json"},"free":{}}}`,
	}), nil)
	w.succeeds(w.run(target), `1`)
}

func TestAbandonedChannels(t *testing.T) {
	// rule: R-139
	w := newWorld(t)
	for name, leave := range map[string]func(c *peer, send, receive string){
		"receiver": func(c *peer, send, _ string) { c.do("channel/send", fmt.Sprintf(`{"endpoint":%q,"value":1}`, send)) },
	} {
		target := w.flow(name, func(c *peer) int {
			got := []byte(c.do("channel/create", `{}`))
			leave(c, field(got, "send", "endpoint"), field(got, "receive", "endpoint"))
			return c.done(`1`)
		}, nil, nil)
		require.Contains(t, w.fails(w.run(target), "EXECUTION_FAILED").Message, name)
	}
}
