package executorauth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

// rule: W-058
func TestAReceivedSecretHas1To128Bytes(t *testing.T) {
	for _, n := range []int{0, 129, 1 << 16} {
		_, err := executorauth.ParseSecret(strings.Repeat("x", n))
		require.ErrorIs(t, err, executorauth.ErrSecret, "%d bytes", n)
	}
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	right := c.Secret.Reveal()
	for _, s := range []string{
		"x", strings.Repeat("x", 127), strings.Repeat("x", 128), "\x00", "\xff", "ключ",
		right[:42], right + "=", right + " ", " " + right, strings.ToUpper(right), right + "\x00",
	} {
		_, err := a.Resume("B", c.ID, secret(t, s), 0)
		require.Equal(t, executorauth.ErrRejected, err, "%q", s)
	}
	_, err := a.Resume("B", c.ID, secret(t, right), 0)
	require.NoError(t, err)
}

func TestOnlyOneSpellingOfASecretProves(t *testing.T) {
	// The last of 43 characters carries four bits; three other characters decode
	// to the same bytes for a lenient reader.
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	right := c.Secret.Reveal()
	for _, last := range alphabet {
		s := right[:42] + string(last)
		if s == right {
			continue
		}
		_, err := a.Resume("A", c.ID, secret(t, s), 0)
		require.ErrorIs(t, err, executorauth.ErrRejected)
	}
}

func TestNoSecretProvesNothing(t *testing.T) {
	a := newAuthority(t)
	c := confirmed(t, a, "A")
	_, err := a.Resume("B", c.ID, executorauth.Secret{}, 0)
	require.ErrorIs(t, err, executorauth.ErrRejected)
	require.Empty(t, executorauth.Secret{}.Reveal())
}

// complaint: 50 openai/codex#5524 - a credential came out in a debug print of the value that held it
func TestComplaint50Codex5524NoPrintShowsASecret(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	r, err := a.Rotate("A", c.ID, 1, 0)
	require.NoError(t, err)
	hidden := struct{ inner, pointer any }{c, &r} // fields whose methods fmt cannot call
	typed := struct {
		secret executorauth.Secret
		list   []executorauth.Secret
		keyed  map[string]executorauth.Secret
		inner  executorauth.Created
	}{c.Secret, []executorauth.Secret{candidate}, map[string]executorauth.Secret{"k": r.Secret}, c}

	var out bytes.Buffer
	for _, v := range []any{c.Secret, &c.Secret, c, r, hidden, &hidden, typed, &typed, a, *a} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T", "%100v", "%w"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		for _, h := range []slog.Handler{
			slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil),
		} {
			slog.New(h).Info("executor", "value", v)
		}
		// Functions inside a value make encoding/json refuse it; whatever it
		// wrote until then must be clean too.
		_ = json.NewEncoder(&out).Encode(v)
	}
	text, err := c.Secret.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "[redacted]", string(text))
	require.Equal(t, "[redacted]", c.Secret.String())
	require.Equal(t, "[redacted]", c.Secret.GoString())
	encoded, err := json.Marshal(c.Secret)
	require.NoError(t, err)
	require.Equal(t, `"[redacted]"`, string(encoded))
	require.Equal(t, slog.StringValue("[redacted]"), c.Secret.LogValue())

	require.Contains(t, out.String(), "[redacted]")
	for _, s := range []executorauth.Secret{c.Secret, candidate, r.Secret} {
		text := s.Reveal()
		require.NotContains(t, out.String(), text)
		require.NotContains(t, out.String(), fmt.Sprintf("%x", text))
		require.NotContains(t, out.String(), fmt.Sprintf("%X", text))
	}
}

// rule: A-143
func TestAnAuthorityRemembersNoSecret(t *testing.T) {
	a := newAuthority(t)
	c, candidate := rotating(t, a, "A")
	next, err := a.Rotate("A", c.ID, 1, 0)
	require.NoError(t, err)
	pending := provisional(t, a, "B")
	_, err = a.Resume("C", c.ID, secret(t, "a wrong secret that was received"), 0)
	require.Error(t, err)

	memory := contents(reflect.ValueOf(a))
	require.Contains(t, memory, string(c.ID), "the walk reaches the executors")
	for _, s := range []string{
		c.Secret.Reveal(), candidate.Reveal(), next.Secret.Reveal(), pending.Secret.Reveal(),
		"a wrong secret that was received",
	} {
		require.NotContains(t, memory, s)
	}
}

// contents concatenates every string and byte that can be reached from v through
// pointers, maps, slices and fields, unexported ones included. It stops at the
// source of randomness, which is the host's, and at functions, which hold nothing
// here but code.
func contents(v reflect.Value) string {
	var out strings.Builder
	seen := map[unsafe.Pointer]bool{}
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.UnsafePointer()] {
				return
			}
			seen[v.UnsafePointer()] = true
			walk(v.Elem())
		case reflect.Struct:
			for _, field := range v.Fields() {
				walk(field)
			}
		case reflect.Map:
			for it := v.MapRange(); it.Next(); {
				walk(it.Key())
				walk(it.Value())
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.String:
			out.WriteString(v.String() + "\n")
		case reflect.Uint8:
			out.WriteByte(byte(v.Uint()))
		}
	}
	walk(v)
	return out.String()
}

// rule: A-142
func TestOnlyCreateAndRotateDiscloseASecret(t *testing.T) {
	secretType := reflect.TypeFor[executorauth.Secret]()
	var carries func(reflect.Type) bool
	carries = func(r reflect.Type) bool {
		if r == secretType {
			return true
		}
		switch r.Kind() {
		case reflect.Struct:
			for field := range r.Fields() {
				if carries(field.Type) {
					return true
				}
			}
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			return carries(r.Elem())
		}
		return false
	}
	var disclosing []string
	methods := reflect.TypeFor[*executorauth.Authority]()
	for m := range methods.Methods() {
		for out := range m.Type.Outs() {
			if carries(out) {
				disclosing = append(disclosing, m.Name)
			}
		}
	}
	require.Equal(t, []string{"Create", "Rotate"}, disclosing)
}
