package run0

import (
	"fmt"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/fault"
)

// Exit is how the process ended, as its owner saw it.
type Exit struct {
	Code      int    // of the process; -1 where it was killed or its status is not known
	Killed    bool   // by the host
	Limit     string // the bound that the process was killed for; empty: none
	Confirmed bool   // nothing of the process is alive
	Cleanup   bool   // what belonged to it has been put away
}

// Ending is what became of a run: a result, or a failure.
type Ending struct {
	Result *contract.Result
	Err    *fault.Error
}

// end is what the session itself has seen.
type end struct {
	violation  string       // of the protocol, in words for a person
	half       bool         // it is a frame that broke off, as one does when its process is killed
	lost       bool         // the transport failed
	silent     bool         // the output ended before an answer
	deaf       bool         // a frame could not be written before an answer
	mute       bool         // either, and the process went on, so that it had to be killed
	local      *fault.Error // cancel, deadline, bound: the first cause
	answered   bool
	killedLate bool // after the answer
	result     *contract.Result
	unfinished *fault.Error // channels left undone
	failure    *fault.Error // of the component's own, or of its result
}

// End classifies the run once its process is gone and its output has ended. It
// stops everything that still waits. The order of the cases is that of
// precedence (run-0 1.5).
func (s *Session) End(x Exit) Ending {
	<-s.drained
	s.w.close()
	s.mu.Lock()
	stop := !s.stopped
	s.stopped = true
	e := s.ended
	s.mu.Unlock()
	if stop {
		s.o.Handler.Stop()
	}
	if err := e.failed(x); err != nil {
		return Ending{Err: err}
	}
	return Ending{Result: e.result}
}

func (e end) failed(x Exit) *fault.Error {
	deadline := e.local != nil && e.local.Code == fault.DeadlineExceeded
	switch {
	case e.violation != "" && !(e.half && x.Limit != ""):
		return fault.New(fault.ProtocolError, e.violation)
	case e.lost && deadline && !e.answered:
		return e.local
	case e.lost:
		return fault.New(fault.ChannelLost, "the connection to the component broke")
	case !x.Confirmed:
		return fault.New(fault.Uncertain, "the end of the process could not be confirmed")
	case !x.Cleanup:
		return fault.New(fault.ExecutionFailed, "what belonged to the process could not be put away")
	case e.local != nil:
		return e.local
	case e.answered && (e.killedLate || x.Killed):
		return fault.New(fault.ExecutionFailed, "the process had to be killed after its answer")
	case x.Limit != "":
		return fault.New(fault.ResourceExhausted, x.Limit+" above the limit")
	case x.Killed && e.mute:
		return fault.New(fault.ChannelLost, "the process closed its input or output before it answered")
	case x.Killed:
		return fault.New(fault.ResourceExhausted, "the process was killed")
	case x.Code < 0:
		return fault.New(fault.ExecutionFailed, "the sandbox of the process was ended by somebody else, so its status is not known")
	case x.Code != 0:
		return fault.New(fault.ExecutionFailed, fmt.Sprintf("the process ended with the status %d", x.Code))
	case e.deaf:
		return fault.New(fault.ChannelLost, "the process took no more input before it answered")
	case !e.answered:
		return fault.New(fault.ChannelLost, "the process ended before it answered")
	case e.unfinished != nil:
		return e.unfinished
	}
	return e.failure
}
