//go:build !linux

package state

func checkFileSystem(string) error { return nil }
