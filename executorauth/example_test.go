package executorauth_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/magi-jig/magi-jig/executorauth"
)

func Example() {
	start := time.Now()
	now := func() time.Duration { return time.Since(start) } // monotonic

	authority, err := executorauth.New(rand.Reader, executorauth.Limits{})
	if err != nil {
		panic(err)
	}
	created, err := authority.Create("connection-1", now())
	if err != nil {
		panic(err)
	}
	fmt.Println(created.Generation, created.Secret)

	// The application keeps created.Secret.Reveal() and confirms with it.
	secret, _ := executorauth.ParseSecret(created.Secret.Reveal())
	if _, err := authority.Confirm("connection-1", created.ID, secret, now()); err != nil {
		panic(err)
	}

	// It crashes, or a second instance of it starts: whoever has the secret may
	// take the executor, and the old connection may not speak for it any more.
	resumed, err := authority.Resume("connection-2", created.ID, secret, now())
	if err != nil {
		panic(err)
	}
	fmt.Println(resumed.Generation, "fenced", resumed.Fenced)
	fmt.Println(authority.Attached("connection-1", created.ID, 1, now()))
	fmt.Println(authority.Attached("connection-2", created.ID, 2, now()))

	wrong, _ := executorauth.ParseSecret("a guess")
	_, err = authority.Resume("connection-3", created.ID, wrong, now())
	fmt.Println(errors.Is(err, executorauth.ErrRejected), err)
	// Output:
	// 1 [redacted]
	// 2 fenced connection-1
	// false
	// true
	// true executor ID or secret not accepted
}

func ExampleAuthority_Rotate() {
	authority, err := executorauth.New(rand.Reader, executorauth.Limits{})
	if err != nil {
		panic(err)
	}
	e, _ := authority.Create("connection-1", 0)
	_, _ = authority.Confirm("connection-1", e.ID, e.Secret, 0)

	rotated, err := authority.Rotate("connection-1", e.ID, 1, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println("candidate for", rotated.Timeout)

	// The reply was lost with its connection. The old secret still proves.
	authority.Disconnect("connection-1", time.Second)
	resumed, err := authority.Resume("connection-2", e.ID, e.Secret, 2*time.Second)
	fmt.Println(resumed.Generation, "cancelled", resumed.Cancelled, err)
	// Output:
	// candidate for 1m0s
	// 2 cancelled true <nil>
}

func ExampleAuthority_NextDeadline() {
	authority, err := executorauth.New(rand.Reader, executorauth.Limits{})
	if err != nil {
		panic(err)
	}
	_, _ = authority.Create("connection-1", 0)
	next, waiting := authority.NextDeadline()
	fmt.Println(next, waiting)
	for _, e := range authority.Expire(next) {
		fmt.Println(e.What)
	}
	_, waiting = authority.NextDeadline()
	fmt.Println(waiting)
	// Output:
	// 1m0s true
	// unconfirmed
	// false
}
