package realm

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"modernc.org/quickjs"
)

//go:embed js
var parts embed.FS

// Limits bounds a realm. Both are required.
type Limits struct {
	HeapBytes int // of JavaScript values
	Slots     int // of the engine's stack; a plain call takes about one
}

// Host is what the scripts of a realm reach.
type Host interface {
	// Call serves one request of a script. Arguments are string, int, float64,
	// bool, nil or [quickjs.Undefined]; so is the value, or a []any of them, which
	// becomes an array. An error is thrown as a TypeError.
	Call(op string, args []any) (any, error)
	// Resolve turns a specifier into a module's name, which begins with "/" for
	// a module of an author's and with something else for the host's own. It does
	// not fail: what is refused gets the name of a module that throws.
	Resolve(importer, specifier string) string
	// Load gives the text of the module of that name.
	Load(name string) (string, error)
}

// ErrMemory and ErrStack say that the engine's own scripts ran out of memory or
// stack.
var (
	ErrMemory = errors.New("the heap of the realm is full")
	ErrStack  = errors.New("calls went too deep")
)

// Realm is one JavaScript realm. It is for one goroutine.
type Realm struct {
	vm       *quickjs.VM
	host     Host
	dispatch quickjs.Value
	tracker  *tracker
	limits   Limits
}

// bootName is the module through which modules of the engine reach their parts. A
// module whose name begins with "/" is an author's and gets noName instead.
const (
	bootName = "jig:internal"
	noName   = "jig:none"
)

const bootText = "export const internal = globalThis.__internal; delete globalThis.__internal;"

// New makes a realm with the given parts in place.
func New(host Host, l Limits, first ...string) (*Realm, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("realm: %w", err)
	}
	r := &Realm{vm: vm, host: host, limits: l}
	vm.SetMemoryLimit(uintptr(l.HeapBytes))
	vm.SetMaxStackSize(uintptr(l.Slots))
	if err := r.boot(first); err != nil {
		vm.Close()
		return nil, fmt.Errorf("realm: %w", err)
	}
	return r, nil
}

func (r *Realm) boot(first []string) error {
	if err := r.vm.RegisterHostFunc("__host", r.serve); err != nil {
		return err
	}
	core, err := part("core")
	if err != nil {
		return err
	}
	if r.dispatch, err = r.vm.EvalValue(core, quickjs.EvalGlobal); err != nil {
		return err
	}
	r.tracker = track(r.vm)
	r.vm.SetModuleLoader(
		func(_ *quickjs.VM, name string) (string, error) {
			switch name {
			case bootName:
				return bootText, nil
			case noName:
				return ThrowText("this module is the engine's own"), nil
			}
			return r.host.Load(name)
		},
		func(_ *quickjs.VM, importer, specifier string) (string, error) {
			if specifier == bootName && !strings.HasPrefix(importer, "/") {
				return bootName, nil
			}
			if name := r.host.Resolve(importer, specifier); name != bootName {
				return name, nil
			}
			return noName, nil
		})
	promise, err := r.vm.EvalValue(`import "`+bootName+`";`, quickjs.EvalModule)
	if err != nil {
		return err
	}
	promise.Free()
	for _, name := range first {
		if err := r.Tell("part", name); err != nil {
			return err
		}
	}
	_, err = r.Drain()
	return err
}

func part(name string) (string, error) {
	b, err := parts.ReadFile("js/" + name + ".js")
	return string(b), err
}

// serve is the one function of the scripts.
func (r *Realm) serve(args []any) (any, error) {
	op, ok := args[0].(string)
	if !ok {
		return nil, errors.New("no such operation")
	}
	if op == "part" {
		return part(args[1].(string))
	}
	return r.host.Call(op, args[1:])
}

// Tell hands the scripts a message.
func (r *Realm) Tell(name string, args ...any) error {
	_, err := r.ask(name, args...)
	return err
}

func (r *Realm) ask(name string, args ...any) (any, error) {
	v, err := r.dispatch.Call(quickjs.UndefinedValue, append([]any{name}, args...)...)
	return v, limit(err)
}

// Names lists the members of a part.
func (r *Realm) Names(part string) ([]string, error) {
	v, err := r.ask("names", part)
	if err != nil {
		return nil, err
	}
	s, _ := v.(string)
	return strings.Fields(s), nil
}

// Drain runs what is ready to run, and then tells the scripts of promises that
// were rejected and that nobody listens to. idle is false where it stopped in the
// middle, since a script may feed its own queue without end.
func (r *Realm) Drain() (idle bool, err error) {
	for {
		n, err := r.vm.ExecutePendingJobs()
		switch {
		case n >= maxJobs:
			return false, nil
		case err != nil:
			return true, limit(err)
		case r.tracker == nil || len(r.tracker.held) == 0:
			return true, nil
		}
		if err := r.tracker.take(func() error { return r.Tell("unhandled") }); err != nil {
			return true, err
		}
	}
}

// maxJobs is how many jobs the wrapper runs at once before it gives up.
const maxJobs = 1 << 20

// Probe says whether the heap still has room for the realm to go on. Where it
// has none, a promise may have been lost and nothing would ever happen again.
func (r *Realm) Probe() error { return r.Tell("probe") }

// Widen gives the heap room for what is left to do after ErrMemory.
func (r *Realm) Widen() { r.vm.SetMemoryLimit(uintptr(r.limits.HeapBytes + 16<<20)) }

// Interrupt ends what the realm executes, from any goroutine or from the host's
// own function. No catch or finally of the author's runs.
func (r *Realm) Interrupt() { r.vm.Interrupt() }

// Close ends the realm.
func (r *Realm) Close() {
	if r.tracker != nil {
		r.tracker.close()
	}
	r.dispatch.Free()
	r.vm.Close()
}

// limit recognises the engine's own limits.
func limit(err error) error {
	var e *quickjs.Error
	if !errors.As(err, &e) || e.Name != "InternalError" {
		return err
	}
	switch e.Message {
	case "out of memory":
		return ErrMemory
	case "stack overflow":
		return ErrStack
	}
	return err
}

// Text is the text of a module that exports the members of a part, one by one,
// and the part itself as default if that is wanted.
func (r *Realm) Text(part string, isDefault bool) (string, error) {
	names, err := r.Names(part)
	if err != nil {
		return "", err
	}
	return exports("internal("+quote(part)+")", names, isDefault), nil
}

// exports is the text of a module whose exports are members of the object that
// the expression gives.
func exports(expression string, names []string, isDefault bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "import { internal } from %q;\nconst m = %s;\n", bootName, expression)
	if isDefault {
		b.WriteString("export default m;\n")
	}
	for i, name := range names {
		fmt.Fprintf(&b, "const _%d = m[%s]; export { _%[1]d as %[3]s };\n", i, quote(name), name)
	}
	return b.String()
}

// CommonText is the text of a module around a CommonJS file.
func CommonText(name string, names []string) string {
	return exports(`internal("common").load(`+quote(name)+`)`, names, true)
}

// ThrowText is the text of a module that throws.
func ThrowText(message string) string {
	return fmt.Sprintf("import { internal } from %q;\ninternal(\"common\").refuse(%s);\n", bootName, quote(message))
}

// quote writes s as a literal of JavaScript.
func quote(s string) string {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"), jsontext.EscapeForJS(true))
	if err != nil { // it is valid UTF-8
		panic("realm: a text without a literal")
	}
	return string(b)
}
