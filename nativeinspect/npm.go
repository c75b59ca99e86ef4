package nativeinspect

import (
	"context"
	"path/filepath"
)

// codexPackage is the npm package of Codex, and the name in its native packages'
// manifests too.
const codexPackage = "@openai/codex"

// located is the native executable that a launcher stands for.
type located struct {
	native  string // without links
	layout  Layout
	version string
	link    Link
}

// throughNPM finds the native executable of an npm launcher, which is read by
// nobody and executed by nobody (finite-acp 5b). wanted is the version that has to
// be installed; empty means any.
func (in *inspector) throughNPM(ctx context.Context, launcher, wanted string) (located, error) {
	bad := located{}
	bin := dirOf(launcher)
	if filepath.Base(launcher) != "codex.js" || filepath.Base(bin) != "bin" {
		return bad, because(ReasonLayout)
	}
	if real, err := usable(launcher, in.outside); err != nil || real != launcher {
		return bad, layoutFault(err)
	}
	manifest, err := in.record(ctx, join(dirOf(bin), "package.json"))
	if err != nil {
		return bad, layoutFault(err)
	}
	system, cpu := in.platform.names()
	alias := codexPackage + "-" + system + "-" + cpu
	number, ok := version(member(manifest, "version"))
	if !ok || wanted != "" && wanted != number || !is(member(manifest, "name"), codexPackage) ||
		!is(member(member(manifest, "bin"), "codex"), "bin/codex.js") ||
		!is(member(member(manifest, "optionalDependencies"), alias), "npm:"+codexPackage+"@"+number+"-"+system+"-"+cpu) {
		return bad, because(ReasonLayout)
	}
	folder, err := in.nativePackage(ctx, bin, alias)
	if err != nil {
		return bad, layoutFault(err)
	}
	native, err := in.record(ctx, join(folder, "package.json"))
	if err != nil {
		return bad, layoutFault(err)
	}
	if !is(member(native, "name"), codexPackage) || !is(member(native, "version"), number+"-"+system+"-"+cpu) ||
		!only(member(native, "os"), system) || !only(member(native, "cpu"), cpu) {
		return bad, because(ReasonLayout)
	}
	path := filepath.Join(folder, "vendor", in.platform.triple(), "bin", "codex")
	if real, err := usable(path, in.outside); err != nil || real != path {
		return bad, layoutFault(err)
	}
	return located{native: path, layout: LayoutNPM, version: number, link: Link{
		From: launcher, To: path, Role: RoleExecutable, Entry: "optionalDependencies " + alias, Found: folder,
	}}, nil
}

// nativePackage returns the folder, without links, of the nearest installed package
// of a name. The first that exists decides, whatever it is.
func (in *inspector) nativePackage(ctx context.Context, start, name string) (string, error) {
	for dir, n := start, 0; n < MaxAncestors; dir, n = dirOf(dir), n+1 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if filepath.Base(dir) != "node_modules" {
			path := filepath.Join(dir, "node_modules", name)
			_, err := lstat(path)
			if err == nil {
				return resolve(path, in.outside)
			}
			if !missing(err) {
				return "", err
			}
		}
		if dir == "/" {
			break
		}
	}
	return "", because(ReasonLayout)
}

// throughVolta finds the launcher that a Volta dispatcher stands for, and its
// native executable.
func (in *inspector) throughVolta(ctx context.Context, shim string) (located, error) {
	bad := located{}
	if filepath.Base(dirOf(shim)) != "bin" {
		return bad, because(ReasonLayout)
	}
	home, set := in.env[voltaVariable]
	if !set {
		home = dirOf(dirOf(shim))
	}
	if !validPath(home) {
		return bad, because(ReasonLayout)
	}
	record, err := in.record(ctx, home+"/tools/user/bins/codex.json")
	if err != nil {
		return bad, layoutFault(err)
	}
	number, ok := version(member(record, "version"))
	if !ok || !is(member(record, "name"), "codex") || !is(member(record, "package"), codexPackage) || !is(member(record, "manager"), "Npm") {
		return bad, because(ReasonLayout)
	}
	launcher, err := usable(home+"/tools/image/packages/"+codexPackage+"/bin/codex", in.outside)
	if err != nil {
		return bad, layoutFault(err)
	}
	found, err := in.throughNPM(ctx, launcher, number)
	found.layout = LayoutVolta
	return found, err
}

// layoutFault hides what was wrong with an installation's records: the stage alone
// is told (finite-acp 5b). A machine's failure hides there too.
func layoutFault(err error) error {
	if err != nil && cancelled(err) {
		return err
	}
	return &fault{reason: ReasonLayout, stage: StageWrapper}
}
