package nativeinspect

import (
	"context"
	"fmt"
	"runtime"
	"slices"
)

// Options say what to inspect, and what of the machine to believe. They are a
// value.
type Options struct {
	Client Client // required, except by FindOuter
	// Lookup is the operator's environment, such as os.LookupEnv. What is needed of
	// it is read once, before the first access to a file. Required.
	Lookup  func(name string) (value string, set bool)
	Project string // absolute path of the project, which exists; required
	// Platform is what the client has to be made for; empty means this machine's.
	Platform Platform
	// Protected are paths that the sandbox keeps for itself. A file that would be
	// bound at or below one of them is refused.
	Protected []string
	// SharedCache says whether macOS holds a library in its shared cache. It is
	// asked only about paths below /usr/lib and /System/Library. Nil means that it
	// cannot be asked, which refuses a client that needs such a library.
	SharedCache func(path string) (bool, error)
	Limits      Limits
}

// inspector is one call's view of the machine.
type inspector struct {
	client    Client
	env       environment
	platform  Platform
	outside   *exclusion
	protected []string
	cached    func(string) (bool, error)
	limits    Limits
	budget    int64 // bytes that may still be read
	loads     map[loadKey]*loaded
	buffer    []byte // of hash
}

func newInspector(o Options, client Client, variables ...string) (*inspector, error) {
	limits, err := o.Limits.resolve()
	switch {
	case err != nil:
		return nil, err
	case o.Lookup == nil:
		return nil, fmt.Errorf("%w: no environment", ErrConfig)
	case !validPath(o.Project):
		return nil, fmt.Errorf("%w: the project's path is not absolute", ErrConfig)
	}
	for _, p := range o.Protected {
		if !normalised(p) {
			return nil, fmt.Errorf("%w: a protected path is not absolute and normalised", ErrConfig)
		}
	}
	in := &inspector{
		client: client, env: snapshot(o.Lookup, variables...), platform: o.Platform, protected: o.Protected,
		cached: o.SharedCache, limits: limits, budget: limits.TotalBytes, loads: map[loadKey]*loaded{},
	}
	if in.platform == "" {
		in.platform = thisPlatform()
	}
	if in.outside, err = newExclusion(o.Project); err != nil {
		return nil, in.refuse(&fault{reason: reasonOf(err), cause: err}, StageUnavailable, nil)
	}
	return in, nil
}

// thisPlatform is empty where no client is supported.
func thisPlatform() Platform {
	switch runtime.GOOS + "/" + runtime.GOARCH {
	case "linux/amd64":
		return LinuxX64
	case "darwin/amd64":
		return DarwinX64
	case "darwin/arm64":
		return DarwinARM64
	}
	return ""
}

// Inspect finds a client and says what it is. An override that is refused, and the
// first eligible candidate of PATH that is, end the search.
func Inspect(ctx context.Context, o Options) (*Installation, error) {
	if o.Client.Identity() == "" {
		return nil, fmt.Errorf("%w: unknown client", ErrConfig)
	}
	in, err := newInspector(o, o.Client, pathVariable, voltaVariable, o.Client.Override())
	if err != nil {
		return nil, err
	}
	if err := in.supported(); err != nil {
		return nil, in.refuse(err, StageInstallation, nil)
	}
	entries, err := entriesOf(in.env, in.limits.PathEntries)
	if err != nil {
		return nil, in.refuse(err, StageExecutable, nil)
	}
	c, err := in.discover(ctx, entries)
	if err != nil {
		return nil, in.refuse(err, StageExecutable, c.rejected)
	}
	found, err := in.locate(ctx, c)
	if err != nil {
		return nil, in.refuse(faultOf(needFault(err), RoleExecutable, c.selected), "", c.rejected)
	}
	helper := func(executable string, prefix []string) (*Helper, *walk, error) {
		return in.helper(ctx, executable, prefix, entries)
	}
	return in.describe(ctx, c, found, helper)
}

// Open inspects an installation that was approved before. It searches nothing, so
// that a new file on PATH changes nothing: executable and helper have to be where
// the selection says. Whether they are what was approved is for the caller to
// compare (seed: Native client profiles).
func Open(ctx context.Context, s Selection, o Options) (*Installation, error) {
	if s.Client.Identity() == "" || !normalised(s.Executable) || s.Helper != "" && !normalised(s.Helper) {
		return nil, fmt.Errorf("%w: invalid selection", ErrConfig)
	}
	in, err := newInspector(o, s.Client)
	if err != nil {
		return nil, err
	}
	if err := in.supported(); err != nil {
		return nil, in.refuse(err, StageInstallation, nil)
	}
	c := candidate{route: RouteAdmitted, selected: s.Executable}
	if c.real, err = usable(s.Executable, nil); err == nil && c.real != s.Executable {
		err = because(ReasonNotCanonical)
	}
	if err != nil {
		return nil, in.refuse(faultOf(err, RoleExecutable, s.Executable), StageExecutable, nil)
	}
	found, err := in.locate(ctx, c)
	if err == nil && found.layout != LayoutDirect {
		err = because(ReasonLayout)
	}
	if err != nil {
		return nil, in.refuse(faultOf(needFault(err), RoleExecutable, s.Executable), "", nil)
	}
	return in.describe(ctx, c, found, func(string, []string) (*Helper, *walk, error) {
		if s.Helper == "" {
			return nil, nil, &fault{reason: ReasonNoHelper, role: RoleHelper}
		}
		source, err := usable(s.Helper, in.outside)
		if err == nil && s.HelperRoute == RouteBundled && source != s.Helper {
			err = because(ReasonNotCanonical)
		}
		if err != nil {
			return nil, nil, faultOf(needFault(err), RoleHelper, s.Helper)
		}
		return in.visitHelper(ctx, s.Helper, source, s.HelperRoute, nil)
	})
}

// supported refuses a client that does not exist for the platform.
func (in *inspector) supported() error {
	if in.platform == LinuxX64 || in.platform == DarwinX64 && in.client != Pi {
		return nil
	}
	return because(ReasonPlatform)
}

// discover returns the selected file. Only a file that the operator could run is
// eligible.
func (in *inspector) discover(ctx context.Context, entries []string) (candidate, error) {
	name := in.client.Override()
	if path, set := in.env[name]; set {
		c, err := override(path, nil)
		if err != nil {
			err = &fault{reason: ReasonOverride, role: RoleExecutable, subject: path, cause: err}
		}
		return c, err
	}
	c, err := search(ctx, entries, string(in.client), in.outside)
	if err == nil && c.real == "" {
		err = because(ReasonNotFound)
	}
	return c, err
}

// describe walks the files of a native executable and puts the installation
// together.
func (in *inspector) describe(ctx context.Context, c candidate, found located, helper func(string, []string) (*Helper, *walk, error)) (*Installation, error) {
	refused := func(err error) (*Installation, error) { return nil, in.refuse(err, "", c.rejected) }
	w := in.newWalk(ctx)
	top, err := w.start(found.native, found.native, RoleExecutable, found.link)
	if err != nil {
		return refused(err)
	}
	i := &Installation{
		Client: in.client, Route: c.route, Layout: found.layout, Version: found.version,
		Selected: c.selected, Executable: top.file, Rejected: c.rejected,
	}
	if err := w.needs(top); err != nil {
		return refused(err)
	}
	program := top.file.Path // what runs in the end
	if d := top.loaded.wrapper; d != nil {
		if in.client == Pi {
			return refused(w.explain(because(ReasonWrapperForm), RoleExecutable, program, Link{}))
		}
		i.Layout, i.PathPrefix = LayoutWrapper, slices.Clone(d.prefix)
		wrapped, err := w.add(d.target, RoleWrapped, asProgram, Link{From: program, Entry: "makeCWrapper", Found: "absolute path"})
		if err == nil {
			program = wrapped.file.Source
			err = w.needs(wrapped)
		}
		if err != nil {
			return refused(err)
		}
	}
	if in.client == Pi {
		i.Version = PiVersion
		if err := w.piSupport(top); err != nil {
			return refused(err)
		}
	}
	walks := []*walk{w}
	if in.client == Codex && !in.platform.darwin() {
		h, of, err := helper(program, i.PathPrefix)
		if err != nil {
			return nil, in.refuse(err, StageSandbox, nil)
		}
		i.Helper = h
		walks = append(walks, of)
	}
	if err := i.merge(walks); err != nil {
		return refused(err)
	}
	return i, nil
}

// needs walks what a program needs, in the platform's format.
func (w *walk) needs(v *visit) error {
	if v.loaded.image != nil {
		return w.images(v)
	}
	return w.dependencies(v)
}

// merge brings the files of all walks together. Two sources for one path cannot
// both be bound there.
func (i *Installation) merge(walks []*walk) error {
	i.links = map[string]Link{}
	sources := map[string]string{i.Executable.Path: i.Executable.Source}
	if i.Helper != nil {
		sources[i.Helper.Path] = i.Helper.Source
	}
	bound := map[string]bool{}
	for _, w := range walks {
		for _, v := range w.order {
			path := v.file.Path
			if source, ok := sources[path]; ok && source != v.file.Source {
				return &fault{reason: ReasonConflict, role: v.file.Role, subject: path}
			}
			sources[path] = v.file.Source
			if _, ok := i.links[path]; !ok {
				i.links[path] = v.link
			}
			if path == i.Executable.Path || i.Helper != nil && path == i.Helper.Path || bound[path] {
				continue
			}
			bound[path] = true
			i.Files = append(i.Files, v.file)
		}
	}
	slices.SortFunc(i.Files, func(a, b File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return nil
}
