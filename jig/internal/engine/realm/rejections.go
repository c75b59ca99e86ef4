package realm

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// The engine tells a tracker of every promise that is rejected while nobody
// listens, and again when somebody does after all. The wrapper has no name for
// it, so it is set one level below. What that needs of the wrapper's insides is
// looked for by name; a test fails where a new version has moved it.

// rejection is a rejected promise that nobody listens to.
type rejection struct{ promise, reason lib.TJSValue }

// tracker holds them for one realm.
type tracker struct {
	tls  *libc.TLS
	ctx  uintptr
	held []rejection
}

// maxRejections are held at once; one is enough to end a Flow.
const maxRejections = 64

var trackers = struct {
	sync.Mutex
	by map[uintptr]*tracker
}{by: map[uintptr]*tracker{}}

// track begins to watch a VM. It returns nil where the wrapper's insides are not
// as they were.
func track(vm *quickjs.VM) *tracker {
	v := reflect.ValueOf(vm).Elem()
	ctx, runtime := v.FieldByName("cContext"), v.FieldByName("runtime")
	if !ctx.IsValid() || ctx.Kind() != reflect.Uintptr || !runtime.IsValid() || runtime.Kind() != reflect.Pointer || runtime.IsNil() {
		return nil
	}
	rt, tls := runtime.Elem().FieldByName("cRuntime"), runtime.Elem().FieldByName("tls")
	if !rt.IsValid() || rt.Kind() != reflect.Uintptr || !tls.IsValid() || tls.Type() != reflect.TypeFor[*libc.TLS]() {
		return nil
	}
	t := &tracker{tls: (*libc.TLS)(tls.UnsafePointer()), ctx: uintptr(ctx.Uint())}
	trackers.Lock()
	trackers.by[t.ctx] = t
	trackers.Unlock()
	lib.XJS_SetHostPromiseRejectionTracker(t.tls, uintptr(rt.Uint()), pointer(rejected), t.ctx)
	return t
}

// pointer is a Go function as the engine holds one.
func pointer(f func(*libc.TLS, uintptr, lib.TJSValue, lib.TJSValue, int32, uintptr)) uintptr {
	return *(*uintptr)(unsafe.Pointer(&f))
}

func rejected(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, opaque uintptr) {
	trackers.Lock()
	t := trackers.by[opaque]
	trackers.Unlock()
	if t == nil {
		return
	}
	if handled != 0 {
		// A module that throws leaves two promises with one reason behind, and
		// only one of them is ever listened to.
		t.held = slices.DeleteFunc(t.held, func(r rejection) bool {
			same := r.promise == promise || r.reason == reason
			if same {
				t.free(r)
			}
			return same
		})
		return
	}
	if len(t.held) < maxRejections {
		t.held = append(t.held, rejection{lib.XDupValue(tls, ctx, promise), lib.XDupValue(tls, ctx, reason)})
	}
}

func (t *tracker) free(r rejection) {
	lib.XFreeValue(t.tls, t.ctx, r.promise)
	lib.XFreeValue(t.tls, t.ctx, r.reason)
}

// take calls tell for each, with the reason as the global __reason.
func (t *tracker) take(tell func() error) error {
	for len(t.held) > 0 {
		r := t.held[0]
		t.held = t.held[1:]
		name, err := libc.CString("__reason")
		if err != nil {
			t.free(r)
			return ErrMemory
		}
		global := lib.XJS_GetGlobalObject(t.tls, t.ctx)
		lib.XJS_SetPropertyStr(t.tls, t.ctx, global, name, r.reason) // which takes the reason over
		lib.XFreeValue(t.tls, t.ctx, global)
		libc.Xfree(t.tls, name)
		lib.XFreeValue(t.tls, t.ctx, r.promise)
		if err := tell(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tracker) close() {
	for _, r := range t.held {
		t.free(r)
	}
	t.held = nil
	trackers.Lock()
	delete(trackers.by, t.ctx)
	trackers.Unlock()
}
