package realm

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stub is a host that records what it is asked.
type stub struct {
	asked []string
	texts map[string]string // of modules
}

func (s *stub) Call(op string, args []any) (any, error) {
	for _, a := range args {
		if t, ok := a.(string); ok {
			op += " " + t
		}
	}
	s.asked = append(s.asked, op)
	if strings.HasPrefix(op, "bad") {
		return nil, errors.New("refused by the host")
	}
	return nil, nil
}

func (s *stub) Resolve(_, specifier string) string { return specifier }

func (s *stub) Load(name string) (string, error) {
	if text, ok := s.texts[name]; ok {
		return text, nil
	}
	return ThrowText("no module " + name), nil
}

func open(t *testing.T, texts map[string]string, parts ...string) (*Realm, *stub) {
	t.Helper()
	s := &stub{texts: texts}
	r, err := New(s, Limits{HeapBytes: 16 << 20, Slots: 2000}, parts...)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r, s
}

// load runs a module to the end.
func load(t *testing.T, text string, parts ...string) *stub {
	t.Helper()
	r, s := open(t, map[string]string{"/entry": text}, parts...)
	require.NoError(t, r.Tell("load", "/entry"))
	idle, err := r.Drain()
	require.NoError(t, err)
	require.True(t, idle)
	return s
}

// The tracker looks into the wrapper by name; this fails where a new version of it
// has moved what is needed.
func TestTheTrackerFindsWhatItNeeds(t *testing.T) {
	r, _ := open(t, nil)
	require.NotNil(t, r.tracker)
	s := load(t, `Promise.reject(new Error("a")); const late = Promise.reject(new Error("b")); await null; late.catch(() => {}); for (let i = 0; i < 1000; i++) Promise.reject(i).catch(() => {});`)
	require.Len(t, s.asked, 2)
	require.Equal(t, "loaded", s.asked[0])
	require.True(t, strings.HasPrefix(s.asked[1], "error unhandled Error: a"), s.asked[1])
	require.Contains(t, load(t, `throw new Error("once")`).asked[0], "error uncaught Error: once")
	require.Len(t, load(t, `throw "once"`).asked, 1)
}

// rule: E-107
func TestTheHostIsOutOfReach(t *testing.T) {
	s := load(t, `
		const found = []; for (const name of ["__host", "__internal", "__reason", "eval", "SharedArrayBuffer", "Atomics"]) if (name in globalThis) found.push(name);
		try { await import("jig:internal"); found.push("imported"); } catch {}
		if (found.length > 0) throw new Error(found.join());
		export {};`, "globals")
	require.Equal(t, []string{"loaded"}, s.asked)
}

func TestTextsOfModules(t *testing.T) {
	r, _ := open(t, nil)
	names, err := r.Names("node/timers")
	require.NoError(t, err)
	require.Contains(t, names, "setTimeout")
	text, err := r.Text("report", false)
	require.NoError(t, err)
	require.Equal(t, "import { internal } from \"jig:internal\";\nconst m = internal(\"report\");\nconst _0 = m[\"describe\"]; export { _0 as describe };\nconst _1 = m[\"tell\"]; export { _1 as tell };\n", text)
	text, err = r.Text("report", true)
	require.NoError(t, err)
	require.Contains(t, text, "export default m;")
	require.Contains(t, CommonText("/p/a\"b.js", []string{"class"}), `internal("common").load("/p/a\"b.js")`)
	require.Contains(t, CommonText("x", []string{"class"}), `export { _0 as class }`)
	require.Equal(t, "import { internal } from \"jig:internal\";\ninternal(\"common\").refuse(\"a\\u2028\\n\\\"\ufffd\");\n", ThrowText("a\u2028\n\"\xff"))
	_, err = r.Names("nothing")
	require.Error(t, err)
}

func TestTheLimitsOfTheScriptsThemselves(t *testing.T) {
	r, _ := open(t, map[string]string{"/entry": `globalThis.kept = []; try { for (;;) kept.push(new Uint8Array(16000)); } catch {}`})
	require.NoError(t, r.Probe())
	require.NoError(t, r.Tell("load", "/entry"))
	_, err := r.Drain()
	if err == nil {
		err = r.Probe()
	}
	require.ErrorIs(t, err, ErrMemory)
	r.Widen()
	require.NoError(t, r.Probe())
}
