package wirev2

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// nameSet finds duplicate names in the open objects of one text. Few names are compared one by one; many go through a
// map under a random seed, so that a hostile record of thousands of names stays linear.
type nameSet struct {
	in     []byte
	arena  []byte    // unescaped names
	names  []nameRef // of all open objects, innermost last
	scopes uint64    // objects opened so far
	index  map[uint64]named
	seed   maphash.Seed
	seeded bool
}

// nameRef is where a name lies: in the text, or in the arena when it had to be unescaped.
type nameRef struct {
	from, to uint32
	arena    bool
}

// nameScope is one open object.
type nameScope struct {
	id    uint64
	first int // index of its first name
}

type named struct {
	scope uint64
	index int
}

const (
	fewNames    = 16   // names of one object that are compared one by one
	keptNames   = 1024 // names that may stay allocated between texts
	scopeSpread = 0x9e3779b97f4a7c15
)

func (n *nameSet) reset(in []byte) {
	if len(n.index) > keptNames {
		n.index = nil
	}
	clear(n.index)
	if cap(n.names) > keptNames {
		n.names = nil
	}
	if cap(n.arena) > keptNames {
		n.arena = nil
	}
	n.in, n.arena, n.names, n.scopes = in, n.arena[:0], n.names[:0], 0
}

func (n *nameSet) open() nameScope {
	n.scopes++
	return nameScope{n.scopes, len(n.names)}
}

func (n *nameSet) close(s nameScope) { n.names = n.names[:s.first] }

// ref returns where the name between the quotes at from and to lies, after unescaping it into the arena if need be.
func (n *nameSet) ref(from, to int, escaped bool) nameRef {
	if !escaped {
		return nameRef{uint32(from), uint32(to), false}
	}
	mark := len(n.arena)
	n.arena = appendUnescaped(n.arena, n.in[from:to])
	return nameRef{uint32(mark), uint32(len(n.arena)), true}
}

func (n *nameSet) bytes(r nameRef) []byte {
	if r.arena {
		return n.arena[r.from:r.to]
	}
	return n.in[r.from:r.to]
}

// add adds a name to the open object s, and reports whether it was not there.
func (n *nameSet) add(s nameScope, r nameRef) bool {
	name := n.bytes(r)
	count := len(n.names) - s.first
	if count >= fewNames {
		if count == fewNames {
			for i := s.first; i < len(n.names); i++ {
				n.enter(s.id, i)
			}
		}
		key := n.key(s.id, name)
		have, ok := n.index[key]
		switch {
		case !ok:
			n.index[key] = named{s.id, len(n.names)}
			n.names = append(n.names, r)
			return true
		case have.scope == s.id && bytes.Equal(n.bytes(n.names[have.index]), name):
			return false
		}
		// Two names met in one place of the map, which keeps the first: look at all.
	}
	for _, have := range n.names[s.first:] {
		if bytes.Equal(n.bytes(have), name) {
			return false
		}
	}
	n.names = append(n.names, r)
	return true
}

func (n *nameSet) enter(scope uint64, i int) {
	if n.index == nil {
		n.index = make(map[uint64]named)
	}
	key := n.key(scope, n.bytes(n.names[i]))
	if _, taken := n.index[key]; !taken {
		n.index[key] = named{scope, i}
	}
}

func (n *nameSet) key(scope uint64, name []byte) uint64 {
	if !n.seeded {
		n.seed, n.seeded = maphash.MakeSeed(), true
	}
	return maphash.Bytes(n.seed, name) ^ scope*scopeSpread
}

// appendUnescaped appends what raw, a valid string without its quotes, stands for.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		r, n := unescapeRune(raw[i:])
		dst = utf8.AppendRune(dst, r)
		raw = raw[i+n:]
	}
}

// unescapeRune returns the character of the valid escape that b begins with, and the escape's length.
func unescapeRune(b []byte) (rune, int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := hex4(b, 2)
		if r < 0xd800 || r > 0xdfff {
			return r, 6
		}
		return 0x10000 + (r-0xd800)<<10 + (hex4(b, 8) - 0xdc00), 12
	}
	return rune(b[1]), 2 // quote, backslash, slash
}
