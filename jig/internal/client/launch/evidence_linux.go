package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Evidence is the host's end of the socket. It is safe for concurrent use.
type Evidence struct {
	conn    *net.UnixConn
	started chan struct{}
	ended   chan struct{}

	mu         sync.Mutex
	pid        int        // guarded by mu
	exit       *Exit      // guarded by mu
	sessions   *os.File   // guarded by mu
	given      bool       // guarded by mu; sessions belongs to the caller
	categories []Category // guarded by mu
	asked      bool       // guarded by mu; terminate was sent
}

// New makes a socket. The file is the adapter's end: the caller passes it on as
// descriptor 3 and closes it.
func New() (*Evidence, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("launch: socket: %w", err)
	}
	child := os.NewFile(uintptr(pair[1]), "evidence")
	conn, err := connection(pair[0])
	if err != nil {
		child.Close()
		return nil, nil, err
	}
	e := &Evidence{conn: conn, started: make(chan struct{}), ended: make(chan struct{})}
	go e.read()
	return e, child, nil
}

// connection takes fd over.
func connection(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "evidence")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("launch: socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("launch: the descriptor is no socket of this kind")
	}
	return u, nil
}

// read takes events until the first that is none, or the end.
func (e *Evidence) read() {
	defer close(e.ended)
	buffer, control := make([]byte, MaxEventBytes+1), make([]byte, unix.CmsgSpace(4*4))
	for {
		n, c, flags, _, err := e.conn.ReadMsgUnix(buffer, control)
		files := descriptors(control[:c])
		if err != nil || n == 0 || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || !e.take(buffer[:n], &files) {
			closeAll(files)
			return
		}
		closeAll(files)
	}
}

// take applies one event. A descriptor that it keeps it removes from files.
func (e *Evidence) take(b []byte, files *[]*os.File) bool {
	v, err := decodeEvent(b)
	if err != nil || v.descriptor != (len(*files) == 1) || !v.descriptor && len(*files) > 0 {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.exit != nil:
		return false
	case v.name == eventSessions && e.sessions == nil && e.pid == 0:
		e.sessions, *files = (*files)[0], nil
	case v.name == eventStarted && e.pid == 0:
		e.pid = v.pid
		close(e.started)
	case v.name == eventFailed && e.pid != 0:
		if len(e.categories) < MaxCategories {
			e.categories = append(e.categories, v.category)
		}
	case v.name == eventExited && e.pid != 0:
		e.exit = &v.exit
		return false // nothing follows; the end is known
	default:
		return false
	}
	return true
}

// descriptors are the files of a control message.
func descriptors(control []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "sessions"))
		}
	}
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Started is closed when the native client was started.
func (e *Evidence) Started() <-chan struct{} { return e.started }

// Ended is closed when the client's end was reported, or when nothing will be
// reported any more.
func (e *Evidence) Ended() <-chan struct{} { return e.ended }

// Exited is how the client ended, if that was reported.
func (e *Evidence) Exited() (Exit, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.exit == nil {
		return Exit{}, false
	}
	return *e.exit, true
}

// Categories are the kinds of failure that were reported, in order.
func (e *Evidence) Categories() []Category {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Category(nil), e.categories...)
}

// Sessions is the client's folder of sessions, or nil. The first call gives the
// file to the caller, who closes it; later ones return nil.
func (e *Evidence) Sessions() *os.File {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.given {
		return nil
	}
	e.given = e.sessions != nil
	return e.sessions
}

// Terminate asks for the client's end: TERM, and KILL one second later. Only the
// first call sends.
func (e *Evidence) Terminate() error {
	e.mu.Lock()
	asked := e.asked
	e.asked = true
	e.mu.Unlock()
	if asked {
		return nil
	}
	b, err := event{name: eventTerminate}.encode()
	if err != nil {
		return err
	}
	if _, err := e.conn.Write(b); err != nil {
		return fmt.Errorf("launch: terminate: %w", err)
	}
	return nil
}

// Close ends the socket and closes a folder nobody asked for.
func (e *Evidence) Close() error {
	err := e.conn.Close()
	<-e.ended
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions != nil && !e.given {
		e.given = true
		e.sessions.Close()
	}
	return err
}

// Reporter is the adapter's end. It is safe for concurrent use.
type Reporter struct {
	conn      *net.UnixConn
	terminate chan struct{}
}

// NewReporter takes over the descriptor fd. It refuses one that is not of the
// socket's kind.
func NewReporter(fd int) (*Reporter, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return nil, errors.New("launch: the descriptor is no socket of this kind")
	}
	unix.CloseOnExec(fd)
	conn, err := connection(fd)
	if err != nil {
		return nil, err
	}
	r := &Reporter{conn: conn, terminate: make(chan struct{})}
	go r.read()
	return r, nil
}

// read waits for the one thing the host may ask for. An end of the host's side
// asks for nothing: the scope dies with the host anyway.
func (r *Reporter) read() {
	buffer := make([]byte, MaxEventBytes+1)
	n, err := r.conn.Read(buffer)
	if err != nil || n == 0 {
		return
	}
	if v, err := decodeEvent(buffer[:n]); err == nil && v.name == eventTerminate {
		close(r.terminate)
	}
}

// Terminate is closed when the host asks for the client's end.
func (r *Reporter) Terminate() <-chan struct{} { return r.terminate }

// Sessions hands the folder over. The caller keeps its own descriptor.
func (r *Reporter) Sessions(folder *os.File) error {
	return r.send(event{name: eventSessions}, unix.UnixRights(int(folder.Fd())))
}

// Started reports the start of the client.
func (r *Reporter) Started(pid int) error { return r.send(event{name: eventStarted, pid: pid}, nil) }

// Failed reports a kind of failure; an unknown kind is not reported.
func (r *Reporter) Failed(c Category) error {
	if !c.known() {
		return nil
	}
	return r.send(event{name: eventFailed, category: c}, nil)
}

// Exited reports the end of the client.
func (r *Reporter) Exited(x Exit) error { return r.send(event{name: eventExited, exit: x}, nil) }

func (r *Reporter) send(e event, control []byte) error {
	b, err := e.encode()
	if err != nil {
		return err
	}
	if _, _, err := r.conn.WriteMsgUnix(b, control, nil); err != nil {
		return fmt.Errorf("launch: report: %w", err)
	}
	return nil
}

// Close ends the socket.
func (r *Reporter) Close() error { return r.conn.Close() }
