package acpprofile

import "errors"

// Reason is why a conversation failed. An unknown one prints as itself.
type Reason string

// The reasons.
const (
	// ReasonNative: the native client reported an error outside a request.
	ReasonNative Reason = "native-session"
	// ReasonProtocol: one of the sides left the finite protocol.
	ReasonProtocol Reason = "protocol"
)

// Failure is a violation. Side says whose it is; What is a fixed sentence.
type Failure struct {
	Reason Reason
	Side   string // adapter or native
	What   string
}

func (f *Failure) Error() string { return "acpprofile: " + f.Side + ": " + f.What }

// ErrClosed is the answer to everything after a violation.
var ErrClosed = errors.New("acpprofile: the conversation is closed after a failure")

// Decision says what to do with a frame. The slices are the caller's. One of
// ToAdapter can be the line that was given, where it is all and only what the
// adapter may see: whoever gives a line leaves it alone until it has been sent.
type Decision struct {
	ToNative  [][]byte // lines without newline, in order
	ToAdapter [][]byte // frames, in order
	// Cancel is true where ToNative is the cancel of a prompt that has not
	// settled: it is dropped at the time of writing if [Machine.Cancelling] has
	// turned false by then.
	Cancel bool
	// Consumed is true for a cancel that came too late and is written nowhere.
	Consumed bool
}

// Machine is the authority of one conversation. It is for one goroutine.
type Machine struct {
	c Config
	l Limits

	poisoned    bool
	initialized bool
	canClose    bool
	canResume   bool
	session     string // the owned one, once its reply has come
	asked       bool   // a session request was sent
	configured  int    // confirmed entries
	modeSet     bool
	turns       int
	prompted    bool // a prompt was sent
	settled     bool // the last prompt has its result
	failed      bool // the native client answered a request with an error
	cancelled   bool // a cancel came since the last prompt
	closing     bool // close was sent
	closed      bool // and answered
	notice      bool // a warning waits for a session

	pending       bool
	pendingID     string // as written
	pendingMethod string

	adapterIDs                    map[string]bool
	permissions                   map[string]bool
	adapterBytes, adapterFrames   int
	nativeBytes, nativeFrames     int
	updates, textBytes, permitted int
}

// fail poisons the machine for good.
func (m *Machine) fail(side, what string) (Decision, error) {
	m.poisoned = true
	return Decision{}, &Failure{ReasonProtocol, side, what}
}

func (m *Machine) adapter(what string) (Decision, error) { return m.fail("adapter", what) }
func (m *Machine) native(what string) (Decision, error)  { return m.fail("native", what) }

// Settled says whether the conversation may end: nothing is pending, and a
// prompt has its result or the native client has answered with an error.
func (m *Machine) Settled() (bool, error) {
	if m.poisoned {
		return false, ErrClosed
	}
	return !m.pending && (m.prompted && m.settled || m.failed), nil
}

// Pending is the method of the request that waits for its reply, or empty.
func (m *Machine) Pending() string {
	if m.poisoned {
		return ""
	}
	return m.pendingMethod
}

// Prompting says whether a prompt waits for its result.
func (m *Machine) Prompting() bool {
	return !m.poisoned && m.pending && m.pendingMethod == methodPrompt
}

// Cancelling says whether a cancel still has a prompt to stop.
func (m *Machine) Cancelling() bool { return m.cancelled && m.Prompting() }

// Session is the owned session of a conversation that may be retained, or empty:
// after an error of the native client there is none.
func (m *Machine) Session() string {
	if m.poisoned || m.failed || !m.settled {
		return ""
	}
	return m.session
}

// AdapterEOF is the end of the adapter's frames.
func (m *Machine) AdapterEOF() error {
	settled, err := m.Settled()
	if err != nil {
		return err
	}
	if !settled {
		_, err = m.adapter("the requests ended before the conversation had settled")
	}
	return err
}

// NativeEOF is the end of the native client's lines.
func (m *Machine) NativeEOF() error {
	settled, err := m.Settled()
	if err != nil {
		return err
	}
	if !settled {
		_, err = m.native("the output ended before the conversation had settled")
	}
	return err
}
