package cli

import (
	"context"
	"errors"
	"io"
)

// readAll reads no more than limit bytes of what open gives. Opening and reading a pipe can wait for as long as nobody
// writes; a signal that tells the program to end is heeded all the same.
func readAll(ctx context.Context, limit int64, open func() (io.ReadCloser, error)) ([]byte, error) {
	type answer struct {
		read []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		f, err := open()
		if err != nil {
			done <- answer{nil, err}
			return
		}
		defer f.Close()
		read, err := io.ReadAll(io.LimitReader(f, limit))
		done <- answer{read, err}
	}()
	select {
	case a := <-done:
		return a.read, a.err
	case <-ctx.Done():
		return nil, errors.New("told to end while waiting for input")
	}
}
