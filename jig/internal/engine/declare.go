package engine

// DeclareMain is `jig __declare`. It returns the exit status.
func DeclareMain(args []string) int { return exitEngine }
