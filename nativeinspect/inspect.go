package nativeinspect

import "context"

// Options say what to inspect, and what of the machine to believe.
type Options struct {
	Client Client // required
	// Lookup is the operator's environment, such as os.LookupEnv. What is needed of
	// it is read once, before the first access to a file. Required.
	Lookup  func(name string) (value string, set bool)
	Project string // absolute path of the project; required
	// Platform is what the client has to be made for; empty means this machine's.
	Platform Platform
	// Protected are paths that the sandbox keeps for itself. A file that would be
	// bound at or below one of them is refused.
	Protected []string
	// SharedCache says whether macOS holds a library in its shared cache. It is
	// asked only about paths below /usr/lib and /System/Library. Nil means that it
	// cannot be asked, which refuses a client that needs such a library.
	SharedCache func(path string) (bool, error)
	Limits      Limits
}

// Inspect finds a client and says what it is.
func Inspect(ctx context.Context, o Options) (*Installation, error) {
	return nil, ErrConfig
}

// Open inspects an installation that was approved before. It searches nothing; the
// executable, the helper and their folders have to be where the selection says.
func Open(ctx context.Context, s Selection, o Options) (*Installation, error) {
	return nil, ErrConfig
}
