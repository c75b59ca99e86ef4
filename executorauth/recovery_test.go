package executorauth_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// peer is a client that follows RECOVERY.md: it knows what replies told it and
// nothing else. Its daemon may lose one message between the two.
type peer struct {
	a    *executorauth.Authority
	now  time.Duration
	conn executorauth.ConnID
	next byte // name of its next connection

	known  executorauth.Identity
	proofs []executorauth.Secret // newest first
	lookup executorauth.Identity // what operation.lookup tells of a lost create
	wants  bool                  // an attached executor; false once it wanted a release
	log    []string
}

func newPeer(t *testing.T) *peer { return &peer{a: newAuthority(t), conn: "A", next: 'B', wants: true} }

// loss is what happens to the message that is lost.
type loss struct {
	request    bool // the daemon never saw it; otherwise the reply is lost
	connection bool // the connection ends with it
	wait       time.Duration
}

// send performs one method at the daemon, and takes what the reply says unless it
// is lost.
func (p *peer) send(method string, l *loss) error {
	if method == "release" {
		p.wants = false
	}
	if l != nil && l.request {
		p.lose(l)
		return nil
	}
	var (
		err   error
		learn = func() {}
	)
	switch method {
	case "create":
		var r executorauth.Created
		r, err = p.a.Create(p.conn, p.now)
		p.lookup = r.Identity
		learn = func() { p.known, p.proofs = r.Identity, []executorauth.Secret{r.Secret} }
	case "confirm":
		_, err = p.a.Confirm(p.conn, p.known.ID, p.proofs[0], p.now)
	case "resume", "resume old":
		var r executorauth.Resumed
		s := p.proofs[0]
		if method == "resume old" {
			s = p.proofs[len(p.proofs)-1]
		}
		r, err = p.a.Resume(p.conn, p.known.ID, s, p.now)
		learn = func() { p.known, p.proofs = r.Identity, []executorauth.Secret{s} }
	case "rotate":
		var r executorauth.Rotated
		r, err = p.a.Rotate(p.conn, p.known.ID, p.known.Generation, p.now)
		learn = func() { p.proofs = []executorauth.Secret{r.Secret, p.proofs[len(p.proofs)-1]} }
	case "rotate_confirm":
		_, err = p.a.RotateConfirm(p.conn, p.known.ID, p.known.Generation, p.proofs[0], p.now)
		learn = func() { p.proofs = p.proofs[:1] }
	case "release":
		_, err = p.a.Release(p.conn, p.known.ID, p.known.Generation, p.now)
	}
	if l != nil {
		p.lose(l)
		return nil
	}
	p.log = append(p.log, method+yes(err == nil, "", " "+code(err)))
	if err == nil {
		learn()
	}
	return err
}

func (p *peer) lose(l *loss) {
	if l.connection {
		p.disconnect()
	}
	p.now += l.wait
}

func (p *peer) disconnect() {
	p.a.Disconnect(p.conn, p.now)
	p.conn = executorauth.ConnID(p.next)
	p.next++
}

// recover is the way back of RECOVERY.md, after any lost message in any state.
func (p *peer) recover(lost loss) error {
	if p.known.ID == "" && !lost.connection && !lost.request {
		// The reply of create is gone, and its secret with it. The lookup of the
		// operation names the executor, and its connection may release it.
		p.log = append(p.log, "lookup")
		p.known = p.lookup
		err := p.send("release", nil)
		p.wants, p.known = true, executorauth.Identity{}
		if err != nil && !errors.Is(err, executorauth.ErrRejected) {
			return err
		}
	}
	if p.known.ID != "" {
		err := p.send("resume", nil)
		if len(p.proofs) > 1 && errors.Is(err, executorauth.ErrRejected) {
			err = p.send("resume old", nil)
		}
		switch {
		case err == nil && p.wants:
			return nil
		case err == nil:
			return p.send("release", nil)
		case !errors.Is(err, executorauth.ErrRejected):
			return err
		case !p.wants:
			return nil // gone, as it was to be
		}
	}
	if err := p.send("create", nil); err != nil {
		return err
	}
	return p.send("confirm", nil)
}

type peerState struct {
	name  string
	build []string // messages that arrive
	sends []string // methods that may be sent now
}

var peerStates = []peerState{
	{"nothing", nil, []string{"create"}},
	{"provisional", []string{"create"}, []string{"confirm", "resume", "release"}},
	{"provisional detached", []string{"create", "disconnect"}, []string{"resume"}},
	{"confirmed", []string{"create", "confirm"}, []string{"resume", "rotate", "release"}},
	{"confirmed detached", []string{"create", "confirm", "disconnect"}, []string{"resume"}},
	{"confirmed, rotated before", []string{"create", "confirm", "rotate", "rotate_confirm"}, []string{"resume", "rotate", "release"}},
	{"rotating", []string{"create", "confirm", "rotate"}, []string{"resume", "resume old", "rotate", "rotate_confirm", "release"}},
	{"rotating detached", []string{"create", "confirm", "rotate", "disconnect"}, []string{"resume", "resume old"}},
}

// Each message of each method is lost in turn, in every state in which it can be
// sent, with and without its connection, and the client is slow or not. The same
// few steps always lead back.
//
// rule
func TestRecoveryMatrix(t *testing.T) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "# state\tmethod\tlost\tconnection\twait\tway back\tends")
	for _, state := range peerStates {
		fmt.Fprintln(w)
		for _, method := range state.sends {
			for _, request := range []bool{true, false} {
				for _, connection := range []bool{false, true} {
					var waits []string
					for i, wait := range recoveryWaits {
						l := loss{request, connection, wait}
						way := lostMessage(t, state, method, l, false)
						if pinnable(state) && wait < idleTimeout {
							require.Equal(t, way, lostMessage(t, state, method, l, true), "a pin changes no answer")
						}
						waits = append(waits, wait.String())
						if i+1 < len(recoveryWaits) && way == lostMessage(t, state, method, loss{request, connection, recoveryWaits[i+1]}, false) {
							continue // the next wait tells the same; one row for both
						}
						fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", state.name, method, yes(request, "request", "reply"),
							yes(connection, "lost", "kept"), strings.Join(waits, "/"), way)
						waits = nil
					}
				}
			}
		}
	}
	require.NoError(t, w.Flush())
	golden(t, "testdata/recovery.txt", table.String())
}

// recoveryWaits is how long the client takes to notice: at once, as long as a
// confirmation may take, as long as an executor may be idle.
var recoveryWaits = []time.Duration{0, rotationTimeout, idleTimeout}

func pinnable(s peerState) bool { return len(s.build) > 1 && s.build[1] == "confirm" }

// lostMessage plays one row and returns the way back and where it ends.
func lostMessage(t *testing.T, state peerState, method string, l loss, pin bool) string {
	p := newPeer(t)
	for i, m := range state.build {
		if m == "disconnect" {
			p.disconnect()
			continue
		}
		require.NoError(t, p.send(m, nil))
		if pin && i == 1 {
			_, err := p.a.Pin(p.conn, p.known.ID, p.known.Generation, p.now)
			require.NoError(t, err)
		}
	}
	p.log = nil
	require.NoError(t, p.send(method, &l))
	first := p.known.ID
	require.NoError(t, p.recover(l))
	require.LessOrEqual(t, len(p.log), 4, "a way back is short")

	way := strings.Join(p.log, ", ")
	if !p.wants {
		gone(t, p.a, first, p.now)
		return way + "\tgone"
	}
	// Whatever was lost, the client is back in authority with what it now knows,
	// and what it knows proves it again.
	s := status(t, p.a, p.known.ID, p.now)
	require.Equal(t, executorauth.Confirmed, s.State)
	require.True(t, p.a.Attached(p.conn, p.known.ID, p.known.Generation, p.now))
	require.NoError(t, p.send("rotate", nil))
	require.NoError(t, p.send("rotate_confirm", nil))
	p.disconnect()
	require.NoError(t, p.send("resume", nil))

	// Nothing that was lost keeps a place for longer than its time.
	require.LessOrEqual(t, p.a.Counts(p.now+confirmTimeout).Executors, 1)
	return way + "\t" + yes(p.known.ID == first, "the same executor", "a new executor")
}

// What the client would do at once if it simply sent the lost message again.
//
// rule: A-152
func TestALostRotateReplyLeavesTheOldProofAndAnotherRotation(t *testing.T) {
	for _, again := range []string{"rotate", "resume old"} {
		p := newPeer(t)
		require.NoError(t, p.send("create", nil))
		require.NoError(t, p.send("confirm", nil))
		require.NoError(t, p.send("rotate", &loss{}))
		require.Len(t, p.proofs, 1)
		require.NoError(t, p.send(again, nil))
		require.True(t, p.a.Attached(p.conn, p.known.ID, p.known.Generation, p.now))
	}
}

// rule: A-153
func TestALostConfirmationReplyIsSettledByTheNewProofThenTheOld(t *testing.T) {
	for _, c := range []struct {
		name string
		loss loss
		want string
	}{
		{"it was confirmed", loss{}, "resume"},
		{"it was confirmed, and the rotation's time is over", loss{wait: rotationTimeout}, "resume"},
		{"it never came", loss{request: true}, "resume"},
		{"it never came, just in time", loss{request: true, wait: rotationTimeout - 1}, "resume"},
		{"it never came, and the candidate expired", loss{request: true, wait: rotationTimeout}, "resume executor_rejected, resume old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer(t)
			for _, m := range []string{"create", "confirm", "rotate"} {
				require.NoError(t, p.send(m, nil))
			}
			id := p.known.ID
			p.log = nil
			c.loss.connection = true
			require.NoError(t, p.send("rotate_confirm", &c.loss))
			require.NoError(t, p.recover(c.loss))
			require.Equal(t, c.want, strings.Join(p.log, ", "))
			require.Equal(t, id, p.known.ID)
		})
	}
}

func TestALostCreateReplyHoldsItsPlaceFor60SecondsAtMost(t *testing.T) {
	p := newPeer(t)
	require.NoError(t, p.send("create", &loss{}))
	require.ErrorIs(t, p.send("create", nil), executorauth.ErrConflict)
	p.now = confirmTimeout - 1
	require.ErrorIs(t, p.send("create", nil), executorauth.ErrConflict)
	p.now = confirmTimeout
	require.NoError(t, p.send("create", nil))
}

// The documents quote the table; this keeps the quotes true.
func TestRecoveryDocumentQuotesTheTable(t *testing.T) {
	matrix, err := os.ReadFile("testdata/recovery.txt")
	require.NoError(t, err)
	rows := map[string]bool{}
	for line := range strings.Lines(string(matrix)) {
		rows[strings.Join(strings.Fields(line), " ")] = true
	}
	doc, err := os.ReadFile("RECOVERY.md")
	require.NoError(t, err)
	quoted, inside := 0, false
	for line := range strings.Lines(string(doc)) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		if row := strings.Join(strings.Fields(line), " "); inside && row != "" {
			require.True(t, rows[row], "not in testdata/recovery.txt: %s", row)
			quoted++
		}
	}
	require.Greater(t, quoted, 10)
}

// A request that was given up for lost arrives after the way back.
func TestALateRequestOfAFencedConnectionChangesNothing(t *testing.T) {
	for _, with := range []string{"resume", "resume old"} {
		p := newPeer(t)
		for _, m := range []string{"create", "confirm", "rotate"} {
			require.NoError(t, p.send(m, nil))
		}
		first, old, candidate := p.known, p.proofs[1], p.proofs[0]
		p.conn = "B"
		require.NoError(t, p.send(with, nil))
		before := status(t, p.a, p.known.ID, 0)

		_, err := p.a.Rotate("A", first.ID, first.Generation, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
		_, err = p.a.Release("A", first.ID, first.Generation, 0)
		require.ErrorIs(t, err, executorauth.ErrStale)
		for _, s := range []executorauth.Secret{old, candidate} {
			_, err = p.a.Confirm("A", first.ID, s, 0)
			require.Error(t, err)
			_, err = p.a.RotateConfirm("A", first.ID, first.Generation, s, 0)
			require.Error(t, err)
		}
		require.Equal(t, before, status(t, p.a, p.known.ID, 0))
	}
}
