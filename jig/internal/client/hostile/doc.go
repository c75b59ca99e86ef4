// Package hostile tests a whole `jig __adapter`, as a process, against native
// programs that break every promise: it holds tests only. The test binary is the
// adapter and the native program, by its first argument.
package hostile
