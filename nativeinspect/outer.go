package nativeinspect

import "context"

// Outer is the bubblewrap that contains a client or a Flow. It is a value.
type Outer struct {
	Path     string // the regular file, without links
	Selected string // as it was found or named
	Route    Route  // RouteOverride or RoutePath
	Rejected []Rejection
}

// FindOuter finds the bubblewrap that JIG_BWRAP_PATH names, or else the first
// eligible one on PATH. It uses Lookup, Project and Limits of the options. The
// override has to lie outside the project too, and nothing replaces one that is
// refused; nor does a later entry of PATH replace a set-id or foreign file (jig 6).
// A failure is a [*Refusal] of stage SANDBOX without client.
func FindOuter(ctx context.Context, o Options) (*Outer, error) {
	in, err := newInspector(o, "", pathVariable, outerVariable)
	if err != nil {
		return nil, err
	}
	var c candidate
	if path, set := in.env[outerVariable]; set {
		c, err = override(path, in.outside)
	} else {
		var entries []string
		if entries, err = entriesOf(in.env, in.limits.PathEntries); err == nil {
			c, err = search(ctx, entries, bwrap, in.outside)
		}
		if err == nil && c.real == "" {
			err = because(ReasonOuterNotFound)
		}
	}
	if err == nil {
		err = checkOuter(c.real)
	}
	if err != nil {
		return nil, in.refuse(faultOf(err, RoleHelper, c.selected), StageSandbox, c.rejected)
	}
	return &Outer{Path: c.real, Selected: c.selected, Route: c.route, Rejected: c.rejected}, nil
}

// checkOuter refuses a set-id file, and what is no program at all.
func checkOuter(path string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.close()
	if f.setID() {
		return because(ReasonSetID)
	}
	head, err := f.at(0, min(int64(len(elfMagic)), f.size))
	if err != nil {
		return err
	}
	if string(head) != string(elfMagic) {
		return because(ReasonOuterNotProgram)
	}
	return nil
}
