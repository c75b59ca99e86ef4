package engine

import (
	"io"
	"maps"
)

// maxChunk is what standard input is read in.
const maxChunk = 64 << 10

// stdin is the host's raw output, for a Flow that brings an SDK of its own. A nil
// one was never looked at.
type stdin struct {
	asked  chan struct{}
	got    chan []byte
	wanted bool // a chunk was asked for and has not come
	ended  bool
	unref  bool
}

func readChunks(in io.Reader, stop <-chan struct{}) *stdin {
	s := &stdin{asked: make(chan struct{}, 1), got: make(chan []byte)}
	go func() {
		for {
			select {
			case <-s.asked:
			case <-stop:
				return
			}
			chunk := make([]byte, maxChunk)
			n, err := 0, error(nil)
			for n == 0 && err == nil {
				n, err = in.Read(chunk)
			}
			select {
			case s.got <- chunk[:n]:
			case <-stop:
				return
			}
			if n == 0 {
				return
			}
		}
	}()
	return s
}

// alive says whether reading keeps the process.
func (s *stdin) alive() bool { return s != nil && s.wanted && !s.ended && !s.unref }

func (s *stdin) chunks() <-chan []byte {
	if s == nil || !s.wanted {
		return nil
	}
	return s.got
}

// arrived gives a chunk as the scripts read it; the end is empty.
func (s *stdin) arrived(chunk []byte) string {
	s.wanted, s.ended = false, len(chunk) == 0
	return std.EncodeToString(chunk)
}

func init() {
	// handle has taken it
	maps.Copy(ops, map[string]func(r *runner, a args) any{
		"read": func(r *runner, _ args) any {
			if r.handling {
				return nil
			}
			if r.stdin == nil {
				r.stdin = readChunks(r.In, r.stop)
			}
			if !r.stdin.wanted && !r.stdin.ended {
				r.stdin.wanted = true
				r.stdin.asked <- struct{}{}
			}
			return nil
		},
		"stdinRef": func(r *runner, a args) any {
			if r.stdin != nil {
				r.stdin.unref = !a.bool(0)
			}
			return nil
		},
		"write": func(r *runner, a args) any {
			b, err := std.DecodeString(a.text(1))
			if err != nil || r.outEnded && a.int(0) == 1 {
				return nil
			}
			if a.int(0) == 1 && !r.modules.virtual {
				r.raw(b)
				return nil
			}
			r.Err.Write([]byte(harmless(string(b))))
			return nil
		},
		"end": func(r *runner, _ args) any {
			r.outEnded = r.outEnded || !r.modules.virtual
			return nil
		},
	})
}

// raw writes to the wire for a Flow that speaks Run/0 by itself. It waits, as a
// pipe does.
func (r *runner) raw(b []byte) {
	for len(b) > 0 {
		n, err := r.Out.Write(b)
		if err != nil {
			r.exit(exitFailed) // what a broken pipe does to a process
			return
		}
		b = b[n:]
	}
}
