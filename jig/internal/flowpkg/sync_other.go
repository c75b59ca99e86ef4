//go:build !linux

package flowpkg

// syncsAll says that [syncAll] does nothing here.
const syncsAll = false

func syncAll(string) error { return nil }
