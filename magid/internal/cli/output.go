package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// output is standard output. It keeps the first error of a write, so that a command whose output was
// lost on the way to a full disk does not end as if it had been printed.
type output struct {
	to io.Writer

	mu   sync.Mutex
	err  error
	lost func() // called with the first error
}

// untilLost returns a context that ends with the first write of standard output that fails. From then on a reader that goes
// away, as in `magid demo | head`, is such a failure and no longer the end of the process, so that the command can clean up.
func (o *output) untilLost(ctx context.Context) (context.Context, context.CancelFunc) {
	// The signal itself says nothing: it comes also for connections that are lost.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = cancel
	return ctx, cancel
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err == nil {
		return n, nil
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	err = fmt.Errorf("standard output could not be written: %w", err)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		if o.lost != nil {
			o.lost()
		}
	}
	return n, err
}

// failed is the first error of a write.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
