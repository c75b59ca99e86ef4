package sessionstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Prepared is content ready to be saved. It is immutable and safe for concurrent
// use.
type Prepared struct {
	packed []byte
	digest string
	bytes  int
}

// Bytes is the size of the content before it was packed.
func (p *Prepared) Bytes() int { return p.bytes }

// splitAt is the size from which two workers are worth their start.
const splitAt = 256 << 10

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(2))
})

// Prepare packs and hashes content, before any transaction begins. Content is 1
// byte to the limit.
func (s *Store) Prepare(content []byte) (*Prepared, error) {
	if len(content) < 1 || len(content) > s.limits.ContentBytes {
		return nil, fmt.Errorf("sessionstore: content of %d bytes; it has 1 to %d", len(content), s.limits.ContentBytes)
	}
	e, err := encoder()
	if err != nil {
		return nil, fmt.Errorf("sessionstore: %w", err)
	}
	halves := [][]byte{content}
	if len(content) >= splitAt {
		halves = [][]byte{content[:len(content)/2], content[len(content)/2:]}
	}
	packed := make([][]byte, len(halves))
	var work sync.WaitGroup
	for i, half := range halves[1:] {
		work.Go(func() { packed[i+1] = e.EncodeAll(half, nil) })
	}
	sum := sha256.Sum256(content)
	packed[0] = e.EncodeAll(halves[0], nil)
	work.Wait()
	return &Prepared{bytes.Join(packed, nil), hex.EncodeToString(sum[:]), len(content)}, nil
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
