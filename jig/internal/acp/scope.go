package acp

import (
	"context"
	"io"
	"os"

	"github.com/magi-jig/magi-jig/jig/internal/client"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// Starter starts native scopes. An error means that nothing of the scope is
// alive, or wraps [ErrUnproved].
type Starter interface {
	StartNative(ctx context.Context, p *client.Plan) (Scope, error)
}

// Scope is one native scope with the adapter in it. Each stream has one user; the
// other methods may be called from anywhere.
type Scope interface {
	// Input takes the launch frame and then the lines of the host. Closing it
	// unblocks a write.
	Input() io.WriteCloser
	Output() io.Reader
	Errors() io.Reader
	// Terminate asks the adapter to end the client: at once, without waiting. The
	// second time it does nothing.
	Terminate()
	// Kill ends everything, at once and without waiting.
	Kill()
	// Ended is closed when nothing of the scope is alive any more.
	Ended() <-chan struct{}
	// Fence kills what is left and waits for the proof of the end; the streams end
	// then. An error means that there is no proof.
	Fence() (Exit, error)
	// Evidence is what the adapter has said of the client; it is asked after the
	// fence.
	Evidence() Evidence
	// Close puts away what belonged to the scope, the descriptor of the sessions
	// too.
	Close() error
}

// Exit is how the scope's own process, the adapter, ended.
type Exit struct {
	Code   int    // -1 where it did not end by itself
	Limit  string // the bound that ended the scope; empty: none
	Broken string // what was wrong with the scope itself, for the operator; empty: nothing
}

// Evidence is what is known of the native client's process.
type Evidence struct {
	Categories []launch.Category // kinds of failure that the adapter told of
	Seen       bool              // the adapter saw its end
	Code       *int              // nil where a signal ended it
	Signal     *string           // nil where it ended by itself
	Terminated bool              // it had been asked to end
	Sessions   *os.File          // of the client's sessions; nil: none came; the scope's own
}
