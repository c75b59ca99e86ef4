package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/config"
	"github.com/magi-jig/magi-jig/magid/internal/socket"
	"github.com/magi-jig/magi-jig/wirev2"
	"github.com/magi-jig/magi-jig/wirev2/client"
)

// How long a command waits for a daemon on its own machine.
const (
	handshakeTimeout = 5 * time.Second
	callTimeout      = 610 * time.Second // longer than the longest deadline of a request
)

// socketPath is where the daemon's socket lies: where the daemon itself would put it.
func (a *app) socketPath() (string, error) {
	configured := ""
	if a.getenv("MAGI_SOCKET") == "" {
		// Only the file can still name one. The key is not ours to take out of the environment.
		cfg, err := config.Load(config.Env{Get: a.getenv})
		if err != nil {
			return "", err
		}
		configured = cfg.Daemon.Socket
	}
	return socket.Path(a.getenv, configured)
}

// connect reaches the daemon or says that there is none.
func (a *app) connect(ctx context.Context, tokens ...wirev2.Capability) (*client.Client, error) {
	path, err := a.socketPath()
	if err != nil {
		return nil, err
	}
	return dial(ctx, path, tokens...)
}

func dial(ctx context.Context, path string, tokens ...wirev2.Capability) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	c, err := client.Dial(ctx, path, client.Options{Name: "magid-cli", Version: version(), Capabilities: tokens})
	if absent(err) {
		return nil, errNoDaemon
	}
	return c, err
}

// absent says that nobody listens at the socket.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

// ending says that a daemon took a connection and hung up, which is what one does that is about to end.
func ending(err error) bool {
	var lost *client.DisconnectError
	return errors.As(err, &lost)
}

// whileEnding tries until no ending daemon is in the way, or patience is at its end.
func whileEnding(ctx context.Context, try func() error) error {
	for patience := time.Now().Add(handshakeTimeout); ; {
		err := try()
		if !ending(err) && !errors.Is(err, errReplaced) || ctx.Err() != nil || time.Now().After(patience) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
