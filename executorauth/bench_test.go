package executorauth_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/magi-jig/magi-jig/executorauth"
)

// crowd is an authority with 256 executors, and one more step to do.
func crowd(b *testing.B) (*executorauth.Authority, executorauth.Created) {
	a := newAuthority(b)
	var last executorauth.Created
	for i := range executorauth.DefaultMaxExecutors {
		last = confirmed(b, a, executorauth.ConnID(fmt.Sprint(i)))
	}
	return a, last
}

// The question about each tool result.
//
// target: <= 0.5x BenchmarkAttached_LimitHash
func BenchmarkAttached(b *testing.B) {
	a, e := crowd(b)
	b.ReportAllocs()
	for b.Loop() {
		if !a.Attached("255", e.ID, 1, 1) {
			b.Fatal("not attached")
		}
	}
}

// One SHA-256 of a secret: what any proof costs.
func BenchmarkAttached_LimitHash(b *testing.B) { hash(b) }

// target: <= 4x BenchmarkResume_LimitHash
func BenchmarkResume(b *testing.B) {
	a, e := crowd(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Resume("255", e.ID, e.Secret, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResume_LimitHash(b *testing.B) { hash(b) }

func hash(b *testing.B) {
	secret := make([]byte, 43)
	b.ReportAllocs()
	for b.Loop() {
		if sum := sha256.Sum256(secret); sum[0] == 0 {
			b.Fatal("not the SHA-256 of 43 zeros")
		}
	}
}
