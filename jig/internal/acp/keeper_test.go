package acp_test

import (
	"context"
	"os"

	"github.com/magi-jig/magi-jig/jig/internal/acp"
)

// keeper is a store of sessions.
type keeper struct {
	rig       *rig
	snapshot  *acp.Snapshot
	claimErr  error
	reason    string
	collErr   error
	saveErr   error
	full      bool
	onSave    func()
	order     []string
	claimed   []string
	secrets   []string
	saved     *acp.Collected
	savedTied bool
}

func (k *keeper) Claim(_ context.Context, scope, reference string) (*acp.Snapshot, error) {
	k.claimed = append(k.claimed, scope+" "+reference)
	if k.claimErr != nil {
		return nil, k.claimErr
	}
	if k.snapshot == nil || len(k.claimed) > 1 {
		return nil, acp.ErrNoSession
	}
	return k.snapshot, nil
}

func (k *keeper) Collect(_ context.Context, sessions *os.File, id string, secrets []string) (*acp.Collected, string, error) {
	k.rig.scope.note("collect")
	k.secrets = secrets
	if k.collErr != nil || k.reason != "" {
		return nil, k.reason, k.collErr
	}
	return &acp.Collected{NativeID: id, Path: sessions.Name(), Content: []byte("history\n")}, "", nil
}

func (k *keeper) Save(_ context.Context, scope string, c *acp.Collected, tied bool) (string, string, error) {
	k.rig.scope.note("save")
	if k.onSave != nil {
		k.onSave()
	}
	switch {
	case k.saveErr != nil:
		return "", "", k.saveErr
	case k.full:
		return "", acp.ReasonCapacity, nil
	}
	k.saved, k.savedTied = c, tied
	return given, "", nil
}
