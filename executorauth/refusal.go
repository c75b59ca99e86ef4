package executorauth

import "errors"

// What a method answers instead of doing something. Match them with errors.Is.
var (
	// ErrRejected: no such executor, or a secret that is not its own. Which of
	// the two is never told. On the wire: executor_rejected.
	ErrRejected = errors.New("executor ID or secret not accepted")
	// ErrStale: the caller is not, or is no longer, the one who may do this. The
	// error's text says which. On the wire: stale_connection.
	ErrStale = errors.New("no current authority over this executor")
	// ErrConflict: the connection already has another executor. On the wire:
	// conflict.
	ErrConflict = errors.New("this connection already has an executor")
	// ErrLimit: there are as many executors as there may be. On the wire:
	// limit_exceeded.
	ErrLimit = errors.New("executor limit reached")
	// ErrSecret: a received secret is empty or longer than MaxSecretBytes. On the
	// wire: invalid_payload.
	ErrSecret = errors.New("a secret has 1 to 128 bytes")
	// ErrRandom: the source of randomness failed or repeated itself. On the wire:
	// internal.
	ErrRandom = errors.New("no usable randomness")
	// ErrConfig: an argument of New is unusable.
	ErrConfig = errors.New("invalid executor authority configuration")
)

// stale is one reason for ErrStale. The reasons are for people; callers branch
// on ErrStale alone.
type stale string

func (s stale) Error() string { return string(s) }

func (s stale) Is(target error) bool { return target == ErrStale }

const (
	errDetached   stale = "this executor is not attached to this connection"
	errGeneration stale = "this executor generation is not current"
	errUnready    stale = "this executor is not confirmed yet"
	errConfirmed  stale = "this executor is already confirmed"
	errElsewhere  stale = "an executor is confirmed on the connection that created it"
	errNothing    stale = "there is no rotation to confirm"
)

// errGenerations stops an executor before its generation leaves the integers
// that every JSON reader can hold.
var errGenerations = exhausted{}

type exhausted struct{}

func (exhausted) Error() string { return "this executor has no generation left; create another" }

func (exhausted) Is(target error) bool { return target == ErrLimit }

// randomError keeps the cause out of the text.
type randomError struct{ cause error }

func (randomError) Error() string { return ErrRandom.Error() }

func (randomError) Is(target error) bool { return target == ErrRandom }

func (e randomError) Unwrap() error { return e.cause }
