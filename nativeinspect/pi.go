package nativeinspect

import "path/filepath"

// PiVersion is the one version of Pi that is supported.
const PiVersion = "0.84.4"

const piPackage = "@earendil-works/pi-coding-agent"

// piSupport visits the manifest and the themes that have to lie beside Pi, outside
// the project (finite-acp 5f).
func (w *walk) piSupport(v *visit) error {
	dir := dirOf(v.file.Path)
	link := func(name string) Link {
		return Link{From: v.file.Path, Entry: "self-contained layout " + name, Found: "beside the executable"}
	}
	manifest, err := w.add(join(dir, "package.json"), RoleManifest, asRecord, link("package.json"))
	if err != nil {
		return err
	}
	record, err := parseRecord(manifest.loaded.content)
	if err != nil || !is(member(record, "name"), piPackage) || !is(member(record, "version"), PiVersion) {
		return w.explain(because(ReasonManifest), RoleManifest, manifest.file.Path, link("package.json"))
	}
	for _, name := range []string{"theme/dark.json", "theme/light.json"} {
		if _, err := w.add(filepath.Join(dir, name), RoleTheme, asData, link(name)); err != nil {
			return err
		}
	}
	return nil
}
