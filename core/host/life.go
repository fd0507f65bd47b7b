package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/demo"
	"gatewaytui/core/gateway"
	"gatewaytui/core/instance"
	"gatewaytui/core/limit"
	"gatewaytui/core/lives"
	"gatewaytui/core/logs"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/service"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/term"
)

// life is one run of a gateway with what belongs to it.
type life struct {
	id       string
	o        Options
	environ  []string // of the start, for the next life
	exposed  error    // why other processes of the user may read this one; nil: they may not
	loaded   config.Loaded
	secrets  config.Credentials
	prepared prepared
	stage    *demo.Home // of a demo, nil: the gateway is none
	home     *instance.Home
	lock     *instance.Lock
	signals  *signals
	redactor *term.Redactor
	log      *slog.Logger
	logs     *logs.Log
	console  Console
	spares   spares
	files    lives.Files
	parts    parts
	gateway  *gateway.Gateway // from when there is one
	// What is served besides the gateway's own platforms, and the bound on connections of the socket.
	socket      socket
	scraper     scraper
	connections control.Connections
}

// record is what the pid file says of this life.
func (l *life) record() instance.Record {
	r := instance.Self()
	r.Life, r.Version, r.StartedAt, r.Control = l.id, l.o.Version, ops.At(time.Now()), l.home.Socket()
	return r
}

// run builds the gateway, serves the control socket, hands the signals over, and ends when the gateway has.
func (l *life) run(ctx context.Context) (gateway.End, error) {
	l.files = lives.Files{Dir: l.home.Dumps(), Life: l.id, Quarantine: l.home.Quarantine}
	l.files.Prune()
	if err := errors.Join(l.home.ReserveMarker(), l.files.Reserve()); err != nil {
		l.log.Warn("room for the end of this life is not kept", "error", term.Clean(err.Error(), 300))
	}
	l.spares.take()
	defer l.spares.release()
	if err := l.build(); err != nil {
		return gateway.End{}, err
	}
	manager, err := l.findSupervisor(ctx)
	if err != nil {
		return gateway.End{}, err
	}
	opts := l.options(manager)
	l.surrender(&opts)
	if l.gateway, err = gateway.New(opts); err != nil {
		return gateway.End{}, err
	}
	defer l.closeServed() // after a stop they are closed already
	if err := l.serve(); err != nil {
		return gateway.End{}, err
	}
	lost := sync.OnceFunc(func() {
		l.console.Leave()
		hangup(l.gateway, l.loaded.Config.Console.OnHangup, l.log)
	})
	stopSignals := l.signals.handOver(l.gateway, l.files, lost, l.Exit, l.log)
	defer stopSignals()
	l.console.Open(Showing{
		Gateway: l.gateway, Log: l.log, Theme: l.loaded.Config.Console.Theme, ShowLog: l.logs.ShowStderr, Lost: lost,
		Crash: func() (*os.File, error) { return l.files.Create("crash") },
	})
	end, err := l.drive(ctx, manager)
	if err != nil {
		return end, err
	}
	if end.ExitCode == ops.ExitRestart && l.gateway.StartsNext() {
		l.succeed()
	}
	l.log.Info("stopped", "outcome", end.Report.Outcome, "mode", term.Clean(end.Report.ModeText(), maxLine), "elapsed_ms", end.Report.ElapsedMS, "exit_code", end.ExitCode)
	return end, nil
}

// closeServed closes what is still served.
func (l *life) closeServed() {
	ctx, cancel := context.WithTimeout(context.Background(), logBound)
	defer cancel()
	_ = l.scraper.close(ctx)
	_ = l.socket.close(ctx)
}

// surrender gives the gateway what its stop closes last, and the bound on connections of the socket.
func (l *life) surrender(opts *gateway.Options) {
	most := control.MostConnections(l.loaded.Config.Limits.ControlConnections)
	bound := opts.Limits.Add(limit.Spec{
		Name: limit.ControlConnections, Most: int64(most), Used: l.socket.used,
		Hint: "close the programs that hold connections of the control socket: ss -xp",
	})
	l.connections = control.Connections{Most: most, Reached: bound.Reached}
	opts.Surrender = []shutdown.Item{
		{Kind: "socket", ID: "control", Run: l.socket.close},
		{Kind: "lock", ID: "pid file and lock", Run: func(context.Context) error { return l.lock.Release() }},
	}
	if l.loaded.Config.Metrics.Listen != "" {
		opts.Surrender = slices.Insert(opts.Surrender, 0, shutdown.Item{Kind: "metrics", ID: "listener", Run: l.scraper.close})
	}
}

// serve makes the control socket and the metrics listener and answers them.
func (l *life) serve() error {
	g := l.gateway
	l.scraper.serve(g, l.loaded.Config.Metrics, l.secrets.API.Value, l.parts.guard, l.log)
	return l.socket.serve(control.Options{
		Console: g, Path: l.home.Socket(), Life: l.id, Tool: g.Tool, ToolRefused: g.ToolRefused, Log: l.log,
		Connections: l.connections, Gatherer: g.Metrics(), Ready: g.Readiness,
	}, l.log)
}

// drive runs the gateway to its end, logs when it is ready, and tells the service manager that it answers.
func (l *life) drive(ctx context.Context, manager service.Supervisor) (gateway.End, error) {
	g := l.gateway
	var running sync.WaitGroup
	over := make(chan struct{})
	running.Go(func() {
		select {
		case <-g.Ready():
			l.log.Info("ready", "life", l.id, "pid", os.Getpid(), "control", l.home.Socket(), "api_listen", l.APIListen())
			debug.FreeOSMemory() // what the start took is never needed again
		case <-over:
		}
	})
	// The beat goes on through the stop, to its end: a service manager's watchdog that heard nothing would cut it short.
	beating, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	running.Go(func() {
		manager.Notify.Run(beating, func(ctx context.Context) bool {
			_, err := g.Status(ctx)
			return err == nil
		})
	})
	end, err := g.Run(ctx)
	stopBeating()
	close(over)
	running.Wait()
	return end, err
}

// findSupervisor looks who runs us and what they allow a stop.
func (l *life) findSupervisor(ctx context.Context) (service.Supervisor, error) {
	once := func(ctx context.Context, argv []string) (string, error) {
		r, err := process.OpenRunner(ctx) // before the gateway has a registry of its own
		if err != nil {
			return "", err
		}
		defer r.Close(ctx)
		return r.Run(ctx, argv)
	}
	s, err := service.FindSupervisor(ctx, l.loaded.Config.Shutdown, l.o.Getenv, once, l.log)
	if wrong, ok := errors.AsType[*service.VariableError](err); ok {
		err = &SetupError{&ops.Error{
			Code: ops.CodeInvalid, Message: wrong.Error(), Hint: "set it to what the service manager allows a stop, or unset it",
		}}
	}
	return s, err
}
