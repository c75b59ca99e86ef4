package check

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/magi-jig/magi-jig/tools/internal/rehearsal"
)

// rehearsed is the one release rehearsal that the checks tidy and alone share.
type rehearsed struct {
	once sync.Once
	r    *rehearsal.Rehearsal
	err  error
}

func (s *rehearsed) get(ctx context.Context, e *Env) (*rehearsal.Rehearsal, error) {
	s.once.Do(func() {
		if s.r, s.err = rehearsal.New(ctx, e.Work); s.err == nil {
			s.err = s.r.Publish(ctx)
		}
	})
	return s.r, s.err
}

func (s *rehearsed) close() {
	if s.r != nil {
		s.r.Close() // a temporary folder; the system removes what is left of it
	}
}

func tidy(ctx context.Context, e *Env) (string, error) {
	r, err := e.rehearsed.get(ctx, e)
	if err != nil {
		return "", err
	}
	lines, err := r.Drift(e.Write)
	if err != nil {
		return "", err
	}
	if len(lines) > 0 {
		lines = append(lines, "go run ./tools/cmd/check -run tidy -write puts them right")
	}
	return fmt.Sprintf("%d modules", len(r.Order)), Problems(lines).Err()
}

func alone(ctx context.Context, e *Env) (string, error) {
	r, err := e.rehearsed.get(ctx, e)
	if err != nil {
		return "", err
	}
	var p Problems
	for _, m := range r.Order {
		if err := r.Alone(ctx, m, true); err != nil {
			p.add("%s: %v", m.Name, err)
		}
	}
	commands, err := r.Install(ctx)
	if err != nil {
		p.add("install: %v", err)
	}
	return fmt.Sprintf("%d modules; installed %s", len(r.Order), strings.Join(commands, ", ")), p.Err()
}
