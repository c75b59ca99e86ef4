package run0_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/run0"
)

// TestEveryCauseGoesAboveThoseThatFollow lets two causes at a time meet in one
// run, wherever they can: the one that stands first in run-0 1.5 names the end.
func TestEveryCauseGoesAboveThoseThatFollow(t *testing.T) {
	// rule
	violate := func(r *rig) { r.write("[]"); r.line(); r.doomed() }
	lose := func(r *rig) { r.out.CloseWithError(errors.New("broken pipe")); <-r.Drained() }
	cancel := func(r *rig) { r.Cancel(fault.New(fault.Cancelled, "stop")); r.line() }
	answer := func(r *rig) { r.write(done); <-r.Answered() }
	refuse := func(r *rig) {
		r.write(`{"jsonrpc":"2.0","id":"host:1","error":{"code":-32000,"message":"x","data":{"code":"UNAVAILABLE"}}}`)
		<-r.Answered()
	}
	undone := func(r *rig) {
		r.write(request("made", "channel/create", "{}"))
		_, receive := grants(r.T, r.line())
		r.write(request("n", "channel/next", `{"endpoint":"`+receive+`"}`), notice(`{"requestId":"n"}`))
		r.failed(r.line(), "n", "CANCELLED")
		r.write(request("again", "channel/create", "{}"))
		send, _ := grants(r.T, r.line())
		r.write(request("s", "channel/send", `{"endpoint":"`+send+`","value":1}`))
		require.JSONEq(r, result("s", "null"), r.line())
	}
	unproved, untidy := clean, clean
	unproved.Confirmed, unproved.Cleanup, untidy.Cleanup = false, false, false
	killed := run0.Exit{Code: -1, Killed: true, Confirmed: true, Cleanup: true}
	unprovedAfterKill := killed
	unprovedAfterKill.Confirmed = false
	limited := killed
	limited.Limit = "memory"
	die := func(r *rig) { r.Killed() }
	for name, c := range map[string]struct {
		acts []func(*rig)
		exit run0.Exit
		want fault.Code
		text string
	}{
		"a violation and a lost transport":         {[]func(*rig){violate, lose}, clean, fault.ProtocolError, ""},
		"a violation and no proof of the end":      {[]func(*rig){violate}, unproved, fault.ProtocolError, ""},
		"a violation while cancelling":             {[]func(*rig){cancel, violate}, clean, fault.ProtocolError, ""},
		"a violation and a status":                 {[]func(*rig){violate}, exited(7), fault.ProtocolError, ""},
		"a lost transport and no proof of the end": {[]func(*rig){lose}, unproved, fault.ChannelLost, ""},
		"a lost transport and nothing put away":    {[]func(*rig){lose}, untidy, fault.ChannelLost, ""},
		"a lost transport while cancelling":        {[]func(*rig){cancel, lose}, clean, fault.ChannelLost, ""},
		"a lost transport and a status":            {[]func(*rig){lose}, exited(7), fault.ChannelLost, ""},
		"no proof of the end while cancelling":     {[]func(*rig){cancel}, unproved, fault.Uncertain, ""},
		"no proof of the end after a late kill":    {[]func(*rig){answer, die}, unprovedAfterKill, fault.Uncertain, ""},
		"no proof of the end after an own failure": {[]func(*rig){refuse}, unproved, fault.Uncertain, ""},
		"no proof of the end and no answer":        {nil, unproved, fault.Uncertain, ""},
		"nothing put away while cancelling":        {[]func(*rig){cancel}, untidy, fault.ExecutionFailed, "put away"},
		"nothing put away after an own failure":    {[]func(*rig){refuse}, untidy, fault.ExecutionFailed, "put away"},
		"cancelled, then answered, then killed":    {[]func(*rig){cancel, answer, die}, killed, fault.Cancelled, ""},
		"no status and no answer":                  {nil, exited(-1), fault.ExecutionFailed, "its status is not known"},
		"cancelled and a status":                   {[]func(*rig){cancel}, exited(7), fault.Cancelled, ""},
		"cancelled and no answer":                  {[]func(*rig){cancel}, clean, fault.Cancelled, ""},
		"cancelled and an own failure":             {[]func(*rig){cancel, refuse}, clean, fault.Cancelled, ""},
		"a late kill and an own failure":           {[]func(*rig){refuse, die}, killed, fault.ExecutionFailed, "after its answer"},
		"a late kill and channels left undone":     {[]func(*rig){undone, answer, die}, killed, fault.ExecutionFailed, "after its answer"},
		"cancelled, then above a limit":            {[]func(*rig){cancel}, limited, fault.Cancelled, ""},
		"answered, then above a limit":             {[]func(*rig){answer}, limited, fault.ExecutionFailed, "after its answer"},
		"above a limit and no answer":              {nil, limited, fault.ResourceExhausted, "memory"},
		"a status and no answer":                   {nil, exited(7), fault.ExecutionFailed, "status 7"},
		"a status and channels left undone":        {[]func(*rig){undone, answer}, exited(7), fault.ExecutionFailed, "status 7"},
		"a status and an own failure":              {[]func(*rig){refuse}, exited(7), fault.ExecutionFailed, "status 7"},
		"no answer":                                {nil, clean, fault.ChannelLost, ""},
		"channels left undone":                     {[]func(*rig){undone, answer}, clean, fault.ExecutionFailed, "left undone"},
		"an own failure":                           {[]func(*rig){refuse}, clean, fault.Unavailable, ""},
		"an own failure and channels left undone":  {[]func(*rig){undone, refuse}, clean, fault.Unavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t)
			for _, act := range c.acts {
				act(r)
			}
			require.Contains(t, r.fails(c.exit, c.want).Message, c.text)
		})
	}
	r := opened(t)
	answer(r)
	require.Nil(t, r.end(clean).Err)
}

func TestACancelThatNamesNothingIsIgnored(t *testing.T) {
	// rule: R-062
	r := opened(t)
	r.write(notice(`{"requestId":"stale:1"}`), notice(`{"requestId":"stale:1"}`))
	// The host's own request is of the other direction.
	r.write(notice(`{"requestId":"host:1"}`))
	// One that waits is cancelled once, however often that is asked.
	r.write(call("a", "o", ""), call("b", "p", ""))
	<-r.host.calls
	other := <-r.host.calls
	r.write(notice(`{"requestId":"a"}`), notice(`{"requestId":"a"}`))
	r.failed(r.line(), "a", "CANCELLED")
	// One that was answered stays so.
	other.op.Settle(jsontext.Value(`{"outcome":"done","output":1}`), nil)
	require.JSONEq(t, result("b", `{"outcome":"done","output":1}`), r.line())
	r.write(notice(`{"requestId":"b"}`), notice(`{"requestId":"a"}`))
	// The component's own request may have the id of the host's: it is what is meant.
	r.write(call("host:1", "q", ""))
	<-r.host.calls
	r.write(notice(`{"requestId":"host:1"}`))
	r.failed(r.line(), "host:1", "CANCELLED")
	require.Zero(t, r.host.stops(), "the run goes on")
	r.write(done)
	<-r.Answered()
	r.quiet()
	require.Nil(t, r.end(clean).Err)
}
