package project

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// What an author has to mend stands with its file, its place and its name.
func TestWhatIsWrongHasItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Diagnostic
	}{
		"a slot": {with(hello, "flows/hello/FLOW.meta.json", "{\n \"uses\": [\"native\"]}"), Diagnostic{
			Path: "flows/hello/FLOW.meta.json", Line: 2, Column: 2,
			Message: `at /uses: an object with a member for each slot is needed, such as {"helper": {}}, not an array`,
		}},
		"a grant that is no JSON": {with(hello, "jig.ts", found, "grants/a.json", "{\n\"kind\":\"http\",}"), Diagnostic{
			Path: "grants/a.json", Line: 2, Column: 15, Message: "not JSON: a member name is missing",
		}},
		"no declaration": {with(hello, "jig.ts", "3"), Diagnostic{
			Path: "jig.ts", Message: "its default export is not what defineJig gives: it has to be an object", Hint: "write export default defineJig({ … })",
		}},
		"no Binding": {with(hello, "jig.ts", found, "bindings/b.ts", "[]"), Diagnostic{
			Path: "bindings/b.ts", Message: "its default export is not what defineBinding gives: it has to be an object", Hint: "write export default defineBinding({ … })",
		}},
		"settings": {with(hello, "jig.ts", found, "bindings/b.ts", `{"kind":"package","package":"flows/hello","settings":{"a":1}}`), Diagnostic{
			Path: "bindings/b.ts", Message: "settings: the package has no settings.schema.json, so there can be no settings (INVALID_SETTINGS)",
		}},
		"no grant": {with(hello, "jig.ts", found, "flows/hello/FLOW.meta.json", `{"uses":{"page":{}}}`, "bindings/b.ts", `{"kind":"package","package":"flows/hello","slots":{"page":"grant:docs"}}`), Diagnostic{
			Path: "bindings/b.ts", Message: "slots.page: there is no grant docs; a grant is a file such as grants/<name>.json that the grants of jig.ts name",
		}},
		"no slot": {with(hello, "jig.ts", found, "bindings/b.ts", `{"kind":"package","package":"flows/hello","slots":{"page":"flow:flows/hello"}}`), Diagnostic{
			Path: "bindings/b.ts", Message: `slots.page: the package flows/hello declares no such slot; its FLOW.meta.json has none under "uses"`,
		}},
	} {
		_, err := load(t, c.files)
		var r *Refusal
		require.True(t, errors.As(err, &r), "%s: %v", name, err)
		c.want.Code = CodeDeclarationInvalid
		require.Equal(t, c.want, r.Diagnostics[0], name)
	}
}
