package nativeinspect

import (
	"context"
	"path/filepath"
)

// locate finds the native executable behind what a search selected. Only the
// launchers of Codex are seen through; all others are refused where they are, and
// later entries of PATH are not tried (finite-acp 5a, 5b).
func (in *inspector) locate(ctx context.Context, c candidate) (located, error) {
	direct := located{native: c.real, layout: LayoutDirect, link: Link{To: c.real, Role: RoleExecutable, Entry: in.entryOf(c), Found: string(c.route)}}
	switch base := filepath.Base(c.real); {
	case base == "volta-shim":
		if in.client != Codex {
			return direct, &fault{reason: ReasonShim, manager: ManagerVolta}
		}
		found, err := in.throughVolta(ctx, c.real)
		return found, managed(err, ManagerVolta)
	case base == "mise" || base == "rtx":
		return direct, &fault{reason: ReasonShim, manager: ManagerMise}
	case base == "asdf":
		return direct, &fault{reason: ReasonShim, manager: ManagerAsdf}
	case base == "codex.js" && in.client == Codex:
		f, err := openRegular(c.real)
		if err != nil {
			return direct, err
		}
		defer f.close()
		head, err := f.at(0, min(2, f.size))
		if err != nil {
			return direct, err
		}
		if script(head) {
			return in.throughNPM(ctx, c.real, "")
		}
	}
	return direct, nil
}

// managed notes in a layout's refusal which manager's shim it was.
func managed(err error, m Manager) error {
	if f, ok := err.(*fault); ok {
		f.manager = m
	}
	return err
}

// entryOf names what selected a candidate.
func (in *inspector) entryOf(c candidate) string {
	switch c.route {
	case RouteOverride:
		return in.client.Override()
	case RouteAdmitted:
		return "admitted selection"
	}
	return pathVariable
}
