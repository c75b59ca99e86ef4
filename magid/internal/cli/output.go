package cli

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// output is standard output. It keeps the first error of a write, so that a command whose output was
// lost on the way to a full disk does not end as if it had been printed.
type output struct {
	to io.Writer

	mu  sync.Mutex
	err error
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
	}
	return n, err
}

// failed is the first error of a write.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
