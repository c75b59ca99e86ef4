package run0

// Limits bounds a session. 0 means the default.
type Limits struct {
	FrameBytes    int   // payload of one frame; default 16,777,216
	StdoutBytes   int64 // everything a component writes; default 256 MiB
	Pending       int   // requests of the component that wait, and calls of it that are alive; default 64
	Requests      int   // requests in the component's life; default 65,536
	QueuedBytes   int   // what waits to be read by the component; default 32 MiB
	RetainedBytes int   // results that a ledger keeps; default 32 MiB
}

func (l Limits) withDefaults() Limits {
	if l.FrameBytes == 0 {
		l.FrameBytes = 16 << 20
	}
	if l.StdoutBytes == 0 {
		l.StdoutBytes = 256 << 20
	}
	if l.Pending == 0 {
		l.Pending = 64
	}
	if l.Requests == 0 {
		l.Requests = 65_536
	}
	if l.QueuedBytes == 0 {
		l.QueuedBytes = 32 << 20
	}
	if l.RetainedBytes == 0 {
		l.RetainedBytes = 32 << 20
	}
	return l
}
