package adapter

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are the numbers by which the kernel knows what a system call means.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// closeKeyrings takes the kernel's keyrings away from this process and everything
// that it starts, for good. The operator's session keyring is inherited by whatever
// is started and no namespace parts from it: what a login, a ticket or another program
// has put there would be the client's to read (seed: Native client profiles). To the
// client it looks like a kernel without keyrings. System calls of another architecture
// would have other numbers, and are refused too.
func closeKeyrings() error {
	architecture, known := architectures[runtime.GOARCH]
	if !known {
		return errors.New("adapter: an architecture whose system calls are not known")
	}
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		result = unix.BPF_RET | unix.BPF_K
		x32    = 0x40000000 // the numbers of amd64's other set of calls begin here
	)
	filter := []unix.SockFilter{
		{Code: load, K: 4}, // the architecture
		{Code: equal, K: architecture, Jf: 5},
		{Code: load, K: 0}, // the call
		{Code: least, K: x32, Jt: 3},
		{Code: equal, K: unix.SYS_ADD_KEY, Jt: 2},
		{Code: equal, K: unix.SYS_REQUEST_KEY, Jt: 1},
		{Code: equal, K: unix.SYS_KEYCTL, Jf: 1},
		{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: result, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// Every thread gets the filter, and with it what is asked of this one first.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return errno
	case thread != 0:
		return errors.New("adapter: a thread keeps the keyrings")
	}
	return nil
}
