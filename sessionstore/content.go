package sessionstore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// Packed content lies in values of at most chunkBytes, one after the other: the
// first under the reference itself, each later one under the reference and its
// number. bbolt writes a page of values anew as a whole and puts at least two of
// them into one, so content in one piece would be written again with each change
// beside it. Two chunks and their keys fill 32 pages of 4 KiB.
const chunkBytes = 64<<10 - 64

// chunks is packed content.
type chunks [][]byte

// chunkKey is the key of the nth chunk of a reference.
func chunkKey(reference []byte, n int) []byte {
	key := bytes.Clone(reference)
	if n == 0 {
		return key
	}
	return binary.BigEndian.AppendUint32(key, uint32(n))
}

// putContent adds the content of a reference.
func (b buckets) putContent(reference []byte, packed chunks) error {
	for n, chunk := range packed {
		if err := b.content.Put(chunkKey(reference, n), chunk); err != nil {
			return fmt.Errorf("sessionstore: %w", err)
		}
	}
	return nil
}

// eachChunk calls f with the keys and values that belong to a reference.
func (b buckets) eachChunk(reference []byte, f func(k, v []byte) error) error {
	c := b.content.Cursor()
	for k, v := c.Seek(reference); bytes.HasPrefix(k, reference); k, v = c.Next() {
		if more := len(k) - len(reference); more != 0 && more != 4 {
			continue
		}
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

// mostPacked bounds what content of n bytes is packed into. What does not pack
// grows a little.
func mostPacked(n int) int { return n + n>>10 + 64 }

// getContent returns the packed content of a reference.
func (b buckets) getContent(reference []byte, r row) ([]byte, error) {
	left := mostPacked(r.bytes)
	var packed chunks
	err := b.eachChunk(reference, func(k, v []byte) error {
		if !bytes.Equal(k, chunkKey(reference, len(packed))) {
			return fmt.Errorf("%w: a part of a snapshot is missing", ErrCorrupt)
		}
		if left -= len(v); left < 0 {
			return fmt.Errorf("%w: a snapshot is larger than it may be", ErrCorrupt)
		}
		packed = append(packed, v)
		return nil
	})
	if err == nil && len(packed) == 0 {
		err = fmt.Errorf("%w: a snapshot has no content", ErrCorrupt)
	}
	return bytes.Join(packed, nil), err
}

// dropContent deletes the content of a reference, which is there.
func (b buckets) dropContent(reference []byte) error {
	var keys [][]byte
	if err := b.eachChunk(reference, func(k, _ []byte) error { keys = append(keys, k); return nil }); err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("%w: a snapshot has no content", ErrCorrupt)
	}
	return deleteAll(b.content, keys)
}

func deleteAll(b *bbolt.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return fmt.Errorf("sessionstore: %w", err)
		}
	}
	return nil
}
