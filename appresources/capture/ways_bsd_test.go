//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package capture

func ways() []way { return []way{plain} }
