package state

import (
	"bytes"
	"hash/fnv"
	"io"
	"os"
)

// The database maps its file into memory and believes what stands there: a page
// number or a length that is wrong ends the process, a free list that is wrong
// overwrites what is in use, and a broken meta page makes it go back in silence to
// the state before the last transaction. So the file is looked at first.
//
// A file is pages of one size. Pages 0 and 1 hold a meta each, of which the
// younger counts. A page begins with a header; a branch or leaf page goes on with
// elements, which say where in the page their key and value stand.
const (
	headerBytes  = 16
	elementBytes = 16
	metaBytes    = 64

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketElement = 0x01
	bucketBytes   = 16 // before an inline bucket's own page

	metaMagic = 0xED0CDAED
	noPage    = ^uint64(0)
	maxLevels = 32
)

type verifier struct {
	f     *window
	page  int64  // bytes of a page
	pages uint64 // in use or free
	used  map[uint64]bool
}

type metaPage struct {
	root, freelist, pages, transaction uint64
	page                               int64
}

// verify says whether f is a whole database.
func verify(f *os.File) error {
	damaged := fail(ErrInvalid, "the state file is damaged")
	info, err := f.Stat()
	if err != nil {
		return failBecause(ErrInvalid, err, "the state file cannot be examined")
	}
	first, ok := readMeta(f, 0)
	if !ok || first.page < 512 || first.page > 64<<10 {
		return damaged
	}
	second, ok := readMeta(f, first.page)
	if !ok || second.page != first.page {
		return damaged
	}
	now := first
	if second.transaction > first.transaction {
		now = second
	}
	v := &verifier{f: &window{f: f}, page: now.page, pages: now.pages, used: map[uint64]bool{}}
	if info.Size()/v.page < int64(min(now.pages, 1<<40)) || !v.tree(now.root, nil, nil, 0) || !v.free(now.freelist) {
		return damaged
	}
	return nil
}

// window reads a file in blocks and keeps the last: keys stand side by side, and
// a system call for each would cost more than all else.
type window struct {
	f     *os.File
	at    int64
	block []byte // what stands at at
}

const blockBytes = 4 << 10

// ReadAt implements [io.ReaderAt].
func (w *window) ReadAt(b []byte, at int64) (int, error) {
	if at < w.at || at+int64(len(b)) > w.at+int64(len(w.block)) {
		if len(b) > blockBytes {
			return w.f.ReadAt(b, at)
		}
		w.at = at &^ (blockBytes - 1)
		w.block = append(w.block[:0], make([]byte, 2*blockBytes)...)
		n, err := w.f.ReadAt(w.block, w.at)
		w.block = w.block[:n]
		if err != nil && err != io.EOF {
			return 0, err
		}
	}
	if at+int64(len(b)) > w.at+int64(len(w.block)) {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(b, w.block[at-w.at:]), nil
}

func readMeta(f *os.File, at int64) (m metaPage, ok bool) {
	b := make([]byte, headerBytes+metaBytes)
	if _, err := f.ReadAt(b, at); err != nil {
		return m, false
	}
	b = b[headerBytes:]
	sum := fnv.New64a()
	sum.Write(b[:metaBytes-8])
	m = metaPage{
		page: int64(native.Uint32(b[8:])), root: native.Uint64(b[16:]), freelist: native.Uint64(b[32:]),
		pages: native.Uint64(b[40:]), transaction: native.Uint64(b[48:]),
	}
	return m, native.Uint32(b) == metaMagic && native.Uint64(b[metaBytes-8:]) == sum.Sum64()
}

// claim marks the pages of id as in use, once.
func (v *verifier) claim(id, overflow uint64) bool {
	if id < 2 || id >= v.pages || overflow >= v.pages-id {
		return false
	}
	for i := range overflow + 1 {
		if v.used[id+i] {
			return false
		}
		v.used[id+i] = true
	}
	return true
}

// header reads the header of a page and claims it.
func (v *verifier) header(id uint64) (kind, count int, size int64, ok bool) {
	b := make([]byte, headerBytes)
	if id >= v.pages {
		return 0, 0, 0, false
	}
	if _, err := v.f.ReadAt(b, int64(id)*v.page); err != nil {
		return 0, 0, 0, false
	}
	overflow := uint64(native.Uint32(b[12:]))
	if native.Uint64(b) != id || !v.claim(id, overflow) {
		return 0, 0, 0, false
	}
	return int(native.Uint16(b[8:])), int(native.Uint16(b[10:])), v.page * int64(1+overflow), true
}

// tree looks at the page id and everything below it. All its keys have to be in
// order, not before low and before high.
func (v *verifier) tree(id uint64, low, high []byte, level int) bool {
	kind, count, size, ok := v.header(id)
	if !ok || level > maxLevels {
		return false
	}
	return v.elements(kind, count, int64(id)*v.page, size, low, high, level)
}

// elements looks at a page that starts at the given offset of the file.
func (v *verifier) elements(kind, count int, at, size int64, low, high []byte, level int) bool {
	if kind != branchPage && kind != leafPage || kind == branchPage && count == 0 || headerBytes+int64(count)*elementBytes > size {
		return false
	}
	all := make([]byte, count*elementBytes)
	if _, err := v.f.ReadAt(all, at+headerBytes); err != nil {
		return false
	}
	keys := make([][]byte, count)
	for i := range count {
		e := all[i*elementBytes:]
		place, keyBytes := int64(native.Uint32(e)), int64(native.Uint32(e[4:]))
		end := keyBytes
		if kind == leafPage {
			place, keyBytes = int64(native.Uint32(e[4:])), int64(native.Uint32(e[8:]))
			end = keyBytes + int64(native.Uint32(e[12:]))
		}
		place += headerBytes + int64(i)*elementBytes
		if keyBytes > v.page || place+end > size {
			return false
		}
		keys[i] = make([]byte, keyBytes)
		if _, err := v.f.ReadAt(keys[i], at+place); err != nil {
			return false
		}
		if i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 || bytes.Compare(keys[i], low) < 0 || high != nil && bytes.Compare(keys[i], high) >= 0 {
			return false
		}
		if kind == leafPage && native.Uint32(e)&bucketElement != 0 && !v.bucket(at+place+keyBytes, end-keyBytes, level) {
			return false
		}
	}
	if kind == leafPage {
		return true
	}
	for i := range count {
		next := high
		if i+1 < count {
			next = keys[i+1]
		}
		if !v.tree(native.Uint64(all[i*elementBytes+8:]), keys[i], next, level+1) {
			return false
		}
	}
	return true
}

// bucket looks at a bucket inside another one: a page of its own, or a page that
// stands in the value.
func (v *verifier) bucket(at, size int64, level int) bool {
	if size < bucketBytes || level > maxLevels {
		return false
	}
	b := make([]byte, min(size, bucketBytes+headerBytes))
	if _, err := v.f.ReadAt(b, at); err != nil {
		return false
	}
	if root := native.Uint64(b); root != 0 {
		return v.tree(root, nil, nil, level+1)
	}
	if len(b) < bucketBytes+headerBytes {
		return false
	}
	page := b[bucketBytes:]
	kind, count := int(native.Uint16(page[8:])), int(native.Uint16(page[10:]))
	return kind == leafPage && native.Uint32(page[12:]) == 0 && v.elements(kind, count, at+bucketBytes, size-bucketBytes, nil, nil, level+1)
}

// free looks at the list of free pages: none is in use, none is named twice.
func (v *verifier) free(id uint64) bool {
	if id == noPage {
		return false // we always write one
	}
	kind, short, size, ok := v.header(id)
	if !ok || kind != freelistPage {
		return false
	}
	at, count := int64(id)*v.page+headerBytes, int64(short)
	if short == 0xffff {
		b := make([]byte, 8)
		if _, err := v.f.ReadAt(b, at); err != nil || native.Uint64(b) > v.pages {
			return false
		}
		at, count = at+8, int64(native.Uint64(b))
	}
	if count*8 > size-headerBytes {
		return false
	}
	b := make([]byte, count*8)
	if _, err := v.f.ReadAt(b, at); err != nil {
		return false
	}
	for i := range count {
		if !v.claim(native.Uint64(b[i*8:]), 0) {
			return false
		}
	}
	return true
}
