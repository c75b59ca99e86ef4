package nativeinspect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"golang.org/x/sys/unix"
)

// stamp is what the system says about a file without reading it.
type stamp struct {
	inode
	size         int64
	mode         uint32
	mtime, ctime unix.Timespec
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{inode{uint64(st.Dev), st.Ino}, st.Size, uint32(st.Mode), st.Mtim, st.Ctim}
}

func (s stamp) regular() bool    { return s.mode&unix.S_IFMT == unix.S_IFREG }
func (s stamp) folder() bool     { return s.mode&unix.S_IFMT == unix.S_IFDIR }
func (s stamp) executable() bool { return s.mode&0o111 != 0 }
func (s stamp) setID() bool      { return s.mode&(unix.S_ISUID|unix.S_ISGID) != 0 }

func lstat(path string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), nil
}

// opened is a regular file, with the pieces that were read of it, so that its
// digest can be shown to cover them.
type opened struct {
	stamp
	fd      int
	looked  []piece
	looking int64 // bytes of looked
}

type piece struct {
	offset int64
	data   []byte
}

// maxLookBytes bounds what is kept of one file until it is hashed.
const maxLookBytes = 4 << 20

// openRegular opens a file whose path holds no link. It never waits: what is not
// regular is not opened, and what turns into a FIFO meanwhile is opened without
// blocking and refused.
func openRegular(path string) (*opened, error) {
	before, err := lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.regular() {
		return nil, because(ReasonNotRegular)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	f := &opened{fd: fd}
	if f.stamp, err = f.stat(); err == nil && f.stamp != before {
		err = because(ReasonChanged)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *opened) close() { _ = unix.Close(f.fd) } // it was only read

func (f *opened) stat() (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return stamp{}, err
	}
	return stampOf(&st), nil
}

// length implements reader.
func (f *opened) length() int64 { return f.size }

// at implements reader: it reads n bytes that have to lie in the file, and
// remembers them.
func (f *opened) at(offset, n int64) ([]byte, error) {
	if n < 0 || n > maxReadBytes || offset < 0 || offset > f.size || n > f.size-offset {
		return nil, because(ReasonMalformed)
	}
	if f.looking += n; f.looking > maxLookBytes {
		return nil, because(ReasonMalformed)
	}
	data := make([]byte, n)
	if err := f.fill(data, offset); err != nil {
		return nil, err
	}
	f.looked = append(f.looked, piece{offset, data})
	return data, nil
}

// fill reads exactly len(data) bytes.
func (f *opened) fill(data []byte, offset int64) error {
	for len(data) > 0 {
		n, err := unix.Pread(f.fd, data, offset)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return because(ReasonChanged) // it has become shorter
		}
		data, offset = data[n:], offset+int64(n)
	}
	return nil
}

// hash returns the digest of the whole file. It refuses a file that changes
// meanwhile, or whose bytes are not those that were looked at.
func (f *opened) hash(ctx context.Context, buffer []byte) (Digest, error) {
	h := sha256.New()
	for offset := int64(0); offset < f.size; {
		if err := ctx.Err(); err != nil {
			return Digest{}, err
		}
		part := buffer[:min(int64(len(buffer)), f.size-offset)]
		if err := f.fill(part, offset); err != nil {
			return Digest{}, err
		}
		if !f.same(part, offset) {
			return Digest{}, because(ReasonChanged)
		}
		h.Write(part)
		offset += int64(len(part))
	}
	after, err := f.stat()
	if err != nil {
		return Digest{}, err
	}
	if after != f.stamp {
		return Digest{}, because(ReasonChanged)
	}
	return Digest(h.Sum(nil)), nil
}

// same compares a part of the file with what was looked at before.
func (f *opened) same(part []byte, offset int64) bool {
	end := offset + int64(len(part))
	for _, p := range f.looked {
		from, to := max(offset, p.offset), min(end, p.offset+int64(len(p.data)))
		if from < to && !bytes.Equal(part[from-offset:to-offset], p.data[from-p.offset:to-p.offset]) {
			return false
		}
	}
	return true
}
