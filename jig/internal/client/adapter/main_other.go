//go:build !linux

package adapter

// Main refuses: native scopes exist on Linux only.
func Main([]string, map[string]Factory) int { return exitLaunch }
