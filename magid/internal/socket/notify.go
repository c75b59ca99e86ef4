package socket

import (
	"fmt"
	"net"
	"os"
)

// What a service manager is told.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Notify tells the service manager named by $NOTIFY_SOCKET, if there is one, how the
// daemon stands.
func Notify(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	// A leading @ is the abstract name space, for net as for the manager.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("service manager cannot be told %s: %w", state, err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("service manager cannot be told %s: %w", state, err)
	}
	return nil
}
