package executorauth_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/executorauth"
)

var (
	long   = flag.Bool("long", os.Getenv("CHECK_LONG") != "", "run the whole suite")
	update = flag.Bool("update", false, "write the golden files")
)

const (
	confirmTimeout  = 60 * time.Second
	rotationTimeout = 60 * time.Second
	idleTimeout     = 15 * time.Minute
)

// random is a deterministic source.
func random(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func newAuthority(t testing.TB) *executorauth.Authority {
	t.Helper()
	a, err := executorauth.New(random(1), executorauth.Limits{})
	require.NoError(t, err)
	return a
}

// provisional creates an executor at time 0.
func provisional(t testing.TB, a *executorauth.Authority, conn executorauth.ConnID) executorauth.Created {
	t.Helper()
	c, err := a.Create(conn, 0)
	require.NoError(t, err)
	return c
}

// confirmed creates and confirms an executor at time 0.
func confirmed(t testing.TB, a *executorauth.Authority, conn executorauth.ConnID) executorauth.Created {
	t.Helper()
	c := provisional(t, a, conn)
	_, err := a.Confirm(conn, c.ID, c.Secret, 0)
	require.NoError(t, err)
	return c
}

// rotating creates and confirms an executor and rotates its secret at time 0.
func rotating(t testing.TB, a *executorauth.Authority, conn executorauth.ConnID) (executorauth.Created, executorauth.Secret) {
	t.Helper()
	c := confirmed(t, a, conn)
	r, err := a.Rotate(conn, c.ID, 1, 0)
	require.NoError(t, err)
	return c, r.Secret
}

func secret(t testing.TB, s string) executorauth.Secret {
	t.Helper()
	parsed, err := executorauth.ParseSecret(s)
	require.NoError(t, err)
	return parsed
}

// status returns what is shown of a live executor.
func status(t testing.TB, a *executorauth.Authority, id executorauth.ID, now time.Duration) executorauth.Status {
	t.Helper()
	s, ok := a.Lookup(id, now)
	require.True(t, ok, "the executor is gone")
	return s
}

// gone requires that the ID means nothing any more.
func gone(t testing.TB, a *executorauth.Authority, id executorauth.ID, now time.Duration) {
	t.Helper()
	_, ok := a.Lookup(id, now)
	require.False(t, ok, "the executor lives")
}
