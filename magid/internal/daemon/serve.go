package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/magi-jig/magi-jig/magid/internal/catalog"
	"github.com/magi-jig/magi-jig/magid/internal/config"
	"github.com/magi-jig/magi-jig/magid/internal/coordinator"
	"github.com/magi-jig/magi-jig/magid/internal/journal"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/server"
	"github.com/magi-jig/magi-jig/magid/internal/socket"
	"github.com/magi-jig/magi-jig/magid/internal/worker"
	"github.com/magi-jig/magi-jig/wirev2"
)

// stopTimeout bounds what a stop waits for: turns to end, connections to be flushed.
const stopTimeout = 5 * time.Second

// Options say how to serve.
type Options struct {
	Version string       // required
	Log     *slog.Logger // required
	// Idle lets the daemon end when nobody needs it. Socket activation implies it.
	Idle bool
	// Hook is for tests of what a crash leaves behind: it is called before each durable step of a journal.
	Hook journal.Hook
	// Ready is optional; it is called once, when clients are served.
	Ready func(socket string)
}

// Check says what would keep a daemon of this environment from serving, as far as its configuration tells. It takes nothing
// out of the environment.
func Check(get func(string) string) error {
	cfg, err := config.Load(config.Env{Get: get})
	if err != nil {
		return err
	}
	if err := cfg.Supported(); err != nil {
		return err
	}
	_, _, err = newProvider(cfg.Provider)
	return err
}

// Serve runs a daemon until ctx is done or it has been idle long enough.
func Serve(ctx context.Context, o Options) error {
	cfg, err := config.Load(config.OSEnv())
	if err != nil {
		return err
	}
	if err := cfg.Supported(); err != nil {
		return err
	}
	for _, warning := range cfg.Warnings {
		o.Log.Warn(warning)
	}
	stateDir, err := journal.StateDir(os.Getenv)
	if err != nil {
		return err
	}
	// The socket comes first: its lock decides who serves, and its folder is only looked at,
	// while the state folder, which may be the same one, is put in order.
	listener, activated, err := listen(cfg)
	if err != nil {
		return err
	}
	store, err := journal.OpenHooked(stateDir, o.Hook)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	d := &daemon{opts: o, cfg: cfg, store: store, listener: listener}
	if o.Idle || activated {
		d.idle = cfg.Daemon.IdleTimeout
	}
	return errors.Join(d.serve(ctx, stateDir), listener.Close(), store.Close())
}

func listen(cfg config.Config) (*socket.Listener, bool, error) {
	listener, err := socket.Activated()
	if err != nil || listener != nil {
		return listener, listener != nil, err
	}
	path, err := socket.Path(os.Getenv, cfg.Daemon.Socket)
	if err != nil {
		return nil, false, err
	}
	listener, err = socket.Listen(path)
	return listener, false, err
}

// daemon is one running daemon.
type daemon struct {
	opts     Options
	cfg      config.Config
	store    *journal.Store
	listener *socket.Listener
	idle     time.Duration // 0 means never

	coordinator *coordinator.Coordinator
	server      *server.Server
}

func (d *daemon) serve(ctx context.Context, stateDir string) error {
	tools := catalog.New(catalog.Config{
		DisabledTools: d.cfg.Tools.Disabled, DisabledSkills: d.cfg.Skills.Disabled, StateDir: stateDir,
	})
	model, why, err := newProvider(d.cfg.Provider)
	if err != nil {
		return err
	}
	if why != "" {
		d.opts.Log.Warn("no turn can run yet", "reason", why)
	}
	if err := d.compose(tools, model, why, stateDir); err != nil {
		return err
	}
	return d.run(ctx)
}

func (d *daemon) compose(tools *catalog.Catalog, model provider.Provider, why, stateDir string) (err error) {
	instance := wirev2.NewID()
	d.coordinator, err = coordinator.New(coordinator.Options{
		Instance: instance, Version: d.opts.Version, Store: d.store, Catalog: tools, Provider: model, Unconfigured: why,
		Limits: worker.Limits{
			MaxReplies: d.cfg.Provider.MaxReplies, MaxHistoryBytes: d.cfg.Provider.MaxHistoryBytes, MaxOutputTokens: d.cfg.Provider.MaxOutputTokens,
		},
		StateDir: stateDir, Log: d.opts.Log,
	})
	if err != nil {
		return err
	}
	d.server, err = server.New(server.Options{
		Instance: instance, Version: d.opts.Version, Coordinator: d.coordinator, Log: d.opts.Log,
		Profile: true, MaxReplies: d.cfg.Provider.MaxReplies,
		IdleTimeout: d.idle, Idle: d.coordinator.Idle,
	})
	return err
}

func (d *daemon) run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(d.listener) }()
	d.tell(socket.Ready)
	d.opts.Log.Info("serving", "version", d.opts.Version, "socket", d.listener.Path(), "pid", os.Getpid(), "idle_exit", d.idle.String())
	if d.opts.Ready != nil {
		d.opts.Ready(d.listener.Path())
	}
	var err error
	select {
	case <-ctx.Done():
		d.opts.Log.Info("stopping")
	case err = <-served:
		if errors.Is(err, server.ErrIdle) {
			d.opts.Log.Info("stopping: nobody needed the daemon", "idle", d.idle.String())
			err = nil
		}
	}
	return errors.Join(err, d.stop())
}

func (d *daemon) stop() error {
	d.tell(socket.Stopping)
	errs := []error{d.listener.Unlisten()}
	ending, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	errs = append(errs, d.coordinator.Shutdown(ending))
	flushing, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := d.server.Stop(flushing); err != nil {
		d.opts.Log.Warn("some connections were closed before all had been written")
	}
	err := errors.Join(errs...)
	if err == nil {
		d.opts.Log.Info("stopped")
	}
	return err
}

// tell informs the service manager. That it cannot be told is no reason not to serve.
func (d *daemon) tell(state string) {
	if err := socket.Notify(state); err != nil {
		d.opts.Log.Warn("service manager not told", "error", err.Error())
	}
}
