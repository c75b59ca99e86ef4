package nativeinspect

import (
	"context"
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// record reads a JSON object of an installation. path is resolved hop by hop; what
// it leads to is opened without following or waiting, bounded, strict UTF-8, and
// unchanged across the read (finite-acp 5b).
func (in *inspector) record(ctx context.Context, path string) (gjson.Result, error) {
	real, err := resolve(path, in.outside)
	if err != nil {
		return gjson.Result{}, err
	}
	l, err := in.load(ctx, real, asRecord)
	if err != nil {
		return gjson.Result{}, err
	}
	return parseRecord(l.content)
}

func parseRecord(data []byte) (gjson.Result, error) {
	if !utf8.Valid(data) || !gjson.ValidBytes(data) {
		return gjson.Result{}, because(ReasonManifest)
	}
	object := gjson.ParseBytes(data)
	if !object.IsObject() {
		return gjson.Result{}, because(ReasonManifest)
	}
	return object, nil
}

// member returns a member of an object. A name that occurs twice has no value:
// readers disagree about which one counts.
func member(object gjson.Result, name string) gjson.Result {
	var found gjson.Result
	count := 0
	if object.IsObject() {
		object.ForEach(func(key, value gjson.Result) bool {
			if key.String() == name {
				found = value
				count++
			}
			return true
		})
	}
	if count != 1 {
		return gjson.Result{}
	}
	return found
}

// is reports whether a value is exactly this string.
func is(value gjson.Result, want string) bool {
	return value.Type == gjson.String && value.String() == want
}

// only reports whether a value is an array of exactly this string.
func only(value gjson.Result, want string) bool {
	if !value.IsArray() {
		return false
	}
	items := value.Array()
	return len(items) == 1 && is(items[0], want)
}

var versionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[0-9A-Za-z.-]+)?$`)
})

// version returns a version number of the form x.y.z with an optional suffix.
func version(value gjson.Result) (string, bool) {
	if value.Type != gjson.String || len(value.String()) > 128 || !versionForm().MatchString(value.String()) {
		return "", false
	}
	return value.String(), true
}
