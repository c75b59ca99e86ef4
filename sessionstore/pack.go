package sessionstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Prepared is content ready to be saved. It is immutable and safe for concurrent
// use.
type Prepared struct {
	packed chunks
	digest string
	bytes  int
}

// Bytes is the size of the content before it was packed.
func (p *Prepared) Bytes() int { return p.bytes }

const (
	// splitAt is the size from which a second worker is worth its start.
	splitAt = 256 << 10
	// frameBytes is the most that one frame holds: little enough to share the work
	// evenly where one core is slower or busy, and no more than the window of the
	// level, so that an encoder never has to move what it has read.
	frameBytes = 3 << 20
	// pieceBytes is the most that is hashed at one go: nothing can stop a
	// goroutine inside, and a garbage collection waits for it.
	pieceBytes = 64 << 10
)

// Prepare packs and hashes content, before any transaction begins. Content is 1
// byte to the limit.
func (s *Store) Prepare(content []byte) (*Prepared, error) {
	if len(content) < 1 || len(content) > s.limits.ContentBytes {
		return nil, fmt.Errorf("sessionstore: content of %d bytes; it has 1 to %d", len(content), s.limits.ContentBytes)
	}
	packed, sum, err := s.packers.pack(content)
	if err != nil {
		return nil, fmt.Errorf("sessionstore: %w", err)
	}
	return &Prepared{packed, hex.EncodeToString(sum), len(content)}, nil
}

// pack packs and hashes content. Two workers take the frames one after the other.
// A hash cannot be split, so the first worker hashes one half before it takes a
// frame, and whoever finds no frame left hashes the other: both end at the same
// time, whatever a hash costs beside a compression.
func (p *packers) pack(content []byte) (chunks, []byte, error) {
	hash := sha256.New()
	if len(content) < splitAt {
		hash.Write(content)
		packed, err := p.compress(content)
		return packed, hash.Sum(nil), err
	}
	frames := cut(content)
	packed, failed := make([]chunks, len(frames)), make([]error, len(frames))
	var (
		work   sync.WaitGroup
		taken  atomic.Int64
		half   = len(content) / 2
		hashed = make(chan struct{})
	)
	add := func(part []byte) {
		for piece := range slices.Chunk(part, pieceBytes) {
			hash.Write(piece)
		}
	}
	finish := sync.OnceFunc(func() {
		<-hashed
		add(content[half:])
	})
	take := func() {
		for i := int(taken.Add(1)) - 1; i < len(frames); i = int(taken.Add(1)) - 1 {
			packed[i], failed[i] = p.compress(frames[i])
		}
		finish()
	}
	work.Go(take)
	add(content[:half])
	close(hashed)
	take()
	work.Wait()
	return slices.Concat(packed...), hash.Sum(nil), errors.Join(failed...)
}

// cut cuts content into at least two frames that are about as large.
func cut(content []byte) [][]byte {
	n := max(2, (len(content)+frameBytes-1)/frameBytes)
	return slices.Collect(slices.Chunk(content, (len(content)+n-1)/n))
}

// packer is what one worker packs with.
type packer struct {
	*zstd.Encoder
	out []byte // reused
}

// packers are those that nobody uses, one for each worker; what more there are is
// dropped. A sync.Pool would lose one whenever its worker has moved.
type packers struct {
	sync.Mutex
	idle [2]*packer
}

// newPackers makes both at once: an encoder has a channel, and one that is made
// inside a bubble of testing/synctest may not be used outside.
func newPackers() (*packers, error) {
	p := &packers{}
	for i := range p.idle {
		var err error
		if p.idle[i], err = newPacker(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func newPacker() (*packer, error) {
	// The content has a digest of its own, so the frames have no checksum.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("sessionstore: %w", err)
	}
	e.EncodeAll(nil, nil) // makes its channel
	return &packer{Encoder: e}, nil
}

func (p *packers) borrow() (*packer, error) {
	p.Lock()
	defer p.Unlock()
	for i, one := range p.idle {
		if one != nil {
			p.idle[i] = nil
			return one, nil
		}
	}
	return newPacker()
}

func (p *packers) giveBack(one *packer) {
	p.Lock()
	defer p.Unlock()
	for i, other := range p.idle {
		if other == nil {
			p.idle[i] = one
			return
		}
	}
}

// compress packs content into one frame.
func (p *packers) compress(content []byte) (chunks, error) {
	one, err := p.borrow()
	if err != nil {
		return nil, err
	}
	defer p.giveBack(one)
	one.out = one.EncodeAll(content, one.out[:0])
	return slices.Collect(slices.Chunk(bytes.Clone(one.out), chunkBytes)), nil
}

// unpack reads what Prepare packed and checks that it is the same.
func unpack(packed []byte, r row) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("sessionstore: %w", err)
	}
	defer d.Close()
	content, err := d.DecodeAll(packed, make([]byte, 0, r.bytes))
	if err == nil && len(content) != r.bytes {
		err = errors.New("another size")
	}
	if sum := sha256.Sum256(content); err == nil && hex.EncodeToString(sum[:]) != r.digest {
		err = errors.New("another digest")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the content of a snapshot: %w", ErrCorrupt, err)
	}
	return content, nil
}
