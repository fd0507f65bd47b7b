package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/demo"
	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/doctor"
	"gatewaytui/core/gateway"
	"gatewaytui/core/instance"
	"gatewaytui/core/limit"
	"gatewaytui/core/lives"
	"gatewaytui/core/logs"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/service"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
	"gatewaytui/core/takeover"
	"gatewaytui/core/term"
	"gatewaytui/tui"
	"gatewaytui/tui/console"
	"gatewaytui/views/lines"
)

// Exit codes of a run beside the planned ones, which the gateway's report has (CONTRACT.md, 1).
const (
	exitHeld = 69
)

// logBound is what the last lines may take to be written once everything else is over.
const logBound = 500 * time.Millisecond

// Once the stop has run to its end, everything that is left to do is bounded and takes some milliseconds. endBound is when
// the process is ended all the same, with its exit code, whatever hangs (A8); endSlack is what that may take, before
// nothing at all is waited for.
const (
	endBound = 2 * time.Second
	endSlack = time.Second
)

// backstop sees to it that the process ends with code: by exit, if it has not ended by itself within endBound, and
// by atOnce, if that hangs as well. It is never taken back.
func backstop(code int, exit, atOnce func(code int)) {
	time.AfterFunc(endBound, func() { exit(code) })
	time.AfterFunc(endBound+endSlack, func() { atOnce(code) })
}

// runOptions are the flags of the command without a verb.
type runOptions struct {
	Config, LogLevel, LogFormat string
	NoTUI, NoResume, Demo       bool
	Replace                     bool
	FreshStore, ReadOnlyStore   bool
	TrustClock                  bool
	LockDir                     string
	DemoPlatforms               string
	Console                     consoleFlags
}

// run runs the gateway from its config to its end. An error carries its exit code; nil is a planned stop.
func (p *program) run(ctx context.Context, o runOptions) error {
	exposed := process.Protect() // before the config names a secret
	if o.FreshStore && o.ReadOnlyStore {
		return wrongUsage("choose one", "--fresh-store and --read-only-store are two ways to start on a damaged database")
	}
	boundMemory(p.getenv)
	load := func() (config.Loaded, error) { return config.Load(config.Options{Path: o.Config}) }
	if o.Demo {
		load = func() (config.Loaded, error) { return demoConfig(o) }
	}
	loaded, err := load()
	if err != nil {
		return err
	}
	loaded.Config.Log.Level = cmp.Or(o.LogLevel, loaded.Config.Log.Level)
	secrets := loaded.Config.Credentials(p.getenv)
	prepared, err := prepare(o, loaded.Config, secrets)
	if err != nil {
		return err
	}
	var stage *stage
	if o.Demo {
		if stage, err = newStage(p.home, p.getenv); err != nil {
			return err
		}
		p.home = stage.home // from here on it is the home that was named
	}
	again := false // the next life goes on in this home
	defer func() {
		if !again {
			stage.close()
		}
	}()
	dir, err := instance.Resolve(p.home, p.getenv)
	if err != nil {
		return err
	}
	if o.LockDir, err = checkLockDir(o.LockDir); err != nil {
		return err
	}
	home, err := instance.Open(dir)
	// A service manager that tries again gets the same answer. EPERM is what belongs to another user.
	if errors.Is(err, instance.ErrForeign) || errors.Is(err, instance.ErrExposed) || errors.Is(err, syscall.EPERM) {
		return &outcome{exitConfig, err}
	}
	if err != nil {
		return err
	}
	if err := stage.open(); err != nil {
		return err
	}
	if o.LockDir != "" {
		if err := home.LockIn(o.LockDir); err != nil {
			return err
		}
	}
	signals := catch()
	defer signals.release()

	l := &life{
		id: ulid.Make().String(), flags: o, environ: os.Environ(), exposed: exposed, loaded: loaded, secrets: secrets, prepared: prepared, home: home, signals: signals,
		getenv: p.getenv, stage: stage,
	}
	lock, err := home.Acquire(l.record())
	if held, ok := errors.AsType[*instance.HeldError](err); ok && o.Replace {
		var ended bool
		if lock, ended, err = p.replace(ctx, home, held, l.record); ended {
			return nil
		}
	}
	if held, ok := errors.AsType[*instance.HeldError](err); ok {
		return &outcome{exitHeld, held}
	}
	if errors.Is(err, instance.ErrNoLocks) { // a service manager that tries again would do so for ever (B18)
		return &outcome{exitConfig, err}
	}
	if err != nil {
		return err
	}
	defer lock.Release() // the stop has done it already, a start that failed has not
	l.lock = lock
	l.localKey()
	l.redactor = term.NewRedactor(l.secrets.Values()...)

	why := ""
	if !o.NoTUI {
		if l.front, why = p.place().Embed(o.Console.wanted(), dir, p.home != "" || p.getenv("GATEWAYTUI_HOME") != ""); l.front != nil && stage != nil {
			hangs := demo.Hangs(prepared.demo)
			l.front.Farewell = func(report ops.Shutdown, exitCode int) []string {
				if exitCode == exitRestart {
					return nil
				}
				return stage.farewell(report, hangs)
			}
		}
	}
	logged := logs.Options{Path: home.Log(), Level: loaded.Config.Log.Level, Redactor: l.redactor}
	// The terminal is the console's alone. A gateway whose console was left becomes one without a console, log included.
	logged.Stderr, logged.StderrIsTerminal, logged.Format, logged.StderrLater = os.Stderr, tui.IsTerminal(os.Stderr), o.LogFormat, l.front != nil
	home.CheckLog()
	log, err := logs.Open(logged)
	if err != nil {
		return err
	}
	if l.front != nil {
		l.front.ShowLog = log.ShowStderr
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), logBound)
		defer cancel()
		_ = log.Close(ctx) // there is nobody left to tell
	}()
	l.log, l.logs = log.Logger(), log
	defer logs.Capture(l.log)()
	if why != "" {
		l.log.Info("running without a console ("+why+"); `gatewaytui attach` in another terminal shows it, ctrl+c or `gatewaytui stop` stops it", "why", why)
	}
	if stage != nil && l.front == nil {
		l.log.Info("this is the demo: made-up platforms and people, a scripted model, a home of its own; in another terminal: gatewaytui status --home "+dir, "home", dir)
	}
	end, err := l.run(ctx)
	again = end.ExitCode == exitRestart
	l.front.Close(end.Report, end.ExitCode)
	if errors.Is(err, store.ErrUnusable) { // another start would meet the same database (HF24)
		return &outcome{exitConfig, err}
	}
	if err != nil {
		return err
	}
	if end.ExitCode != exitDone {
		return &outcome{code: end.ExitCode}
	}
	return nil
}

// checkLockDir makes the value of --lock-dir absolute and refuses one that cannot be used, before a home is made; empty
// stays empty.
func checkLockDir(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return abs, instance.CheckLockDir(abs)
}

// life is one run of a gateway with what belongs to it.
type life struct {
	id       string
	flags    runOptions
	environ  []string // of the start, for the next life
	exposed  error    // why other processes of the user may read this one; nil: they may not
	loaded   config.Loaded
	secrets  config.Credentials
	prepared prepared
	stage    *stage // of a demo, nil: the gateway is none
	home     *instance.Home
	lock     *instance.Lock
	signals  *signals
	redactor *term.Redactor
	getenv   func(string) string
	log      *slog.Logger
	logs     *logs.Log
	front    *console.Embedded // nil: no console
	spares   spares
	gateway  *gateway.Gateway // from when there is one
}

// dangers are the settings that are dangerous enough to be a warning for as long as the gateway runs.
func (l *life) dangers() []ops.Warning {
	var out []ops.Warning
	facts := doctor.Facts{Config: l.loaded.Path, UID: os.Geteuid(), Getenv: l.getenv}
	for _, f := range doctor.Dangers(l.loaded.Config, facts) {
		w := f.Warning()
		w.Since = ops.At(time.Now())
		out = append(out, w)
	}
	return out
}

// record is what the pid file says of this life.
func (l *life) record() instance.Record {
	r := instance.Self()
	r.Life, r.Version, r.StartedAt, r.Control = l.id, versionInfo().Version, time.Now(), l.home.Socket()
	return r
}

// run builds the gateway, serves the control socket, hands the signals over, and ends when the gateway has.
func (l *life) run(ctx context.Context) (gateway.End, error) {
	files := lives.Files{Dir: l.home.Dumps(), Life: l.id, SetAside: l.home.SetAside}
	files.Prune()
	if err := errors.Join(l.home.ReserveMarker(), files.Reserve()); err != nil {
		l.log.Warn("room for the end of this life is not kept", "error", term.Clean(err.Error(), 300))
	}
	l.spares.take()
	defer l.spares.release()
	parts, err := l.parts()
	if err != nil {
		return gateway.End{}, err
	}
	manager, err := l.findSupervisor(ctx)
	if err != nil {
		return gateway.End{}, err
	}
	opts := l.options(parts, files, manager)
	socket, scraper := &socket{}, &scraper{}
	most := control.MostConnections(l.loaded.Config.Limits.ControlConnections)
	connections := opts.Limits.Add(limit.Spec{
		Name: limit.ControlConnections, Most: int64(most), Used: socket.used,
		Hint: "close the programs that hold connections of the control socket: ss -xp",
	})
	opts.Surrender = []gateway.Closer{
		{Kind: "socket", ID: "control", Close: socket.close},
		{Kind: "lock", ID: "pid file and lock", Close: func(context.Context) error { return l.lock.Release() }},
	}
	if l.loaded.Config.Metrics.Listen != "" {
		opts.MetricsListen = scraper.state
		opts.Surrender = slices.Insert(opts.Surrender, 0, gateway.Closer{Kind: "metrics", ID: "listener", Close: scraper.close})
	}
	g, err := gateway.New(opts)
	if err != nil {
		return gateway.End{}, err
	}
	l.gateway = g
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), logBound)
		defer cancel()
		_ = scraper.close(ctx) // after a stop both are closed already
		_ = socket.close(ctx)
	}()
	scraper.serve(g, l.loaded.Config.Metrics, l.secrets.API.Value, parts.guard, l.log)
	err = socket.serve(control.Options{
		Console: g, Path: l.home.Socket(), Life: l.id, Tool: g.Tool, Log: l.log,
		Connections: control.Connections{Most: most, Reached: connections.Reached}, Gatherer: g.Metrics(),
		Ready: func() error { return g.Readiness(ctx) },
	}, l.log)
	if err != nil {
		return gateway.End{}, err
	}
	lost := sync.OnceFunc(func() {
		l.front.Leave()
		hangup(g, l.loaded.Config.Console.OnHangup, l.log)
	})
	stopSignals := l.signals.handOver(g, files, lost, l.exit, l.log)
	defer stopSignals()
	l.front.Open(g, func() (*os.File, error) { return files.Create("crash") }, l.log, l.loaded.Config.Console.Theme, lost)
	told := make(chan struct{})
	over := make(chan struct{})
	go func() { // ends when the gateway is ready or over
		defer close(told)
		select {
		case <-g.Ready():
			l.log.Info("ready", "life", l.id, "pid", os.Getpid(), "control", l.home.Socket(), "api_listen", parts.apiListen())
		case <-over:
		}
	}()
	// The beat goes on through the stop, to its end: a service manager's watchdog that heard nothing would cut it short.
	beating, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	var beat sync.WaitGroup
	beat.Go(func() {
		manager.Notify.Run(beating, func(ctx context.Context) bool {
			_, err := g.Status(ctx)
			return err == nil
		})
	})
	end, err := g.Run(ctx)
	stopBeating()
	beat.Wait()
	close(over)
	<-told
	if err != nil {
		return end, err
	}
	if end.ExitCode == exitRestart && g.StartsNext() {
		l.succeed()
	}
	l.log.Info("stopped", "outcome", end.Report.Outcome, "mode", term.Clean(end.Report.ModeText(), lines.MaxLine), "elapsed_ms", end.Report.ElapsedMS, "exit_code", end.ExitCode)
	return end, nil
}

// options are the gateway's, from the parts and what this start found.
func (l *life) options(parts parts, files lives.Files, manager service.Supervisor) gateway.Options {
	self := instance.Self()
	o := gateway.Options{
		Config: l.loaded.Config, Log: l.log, Models: parts.model, Platforms: parts.platforms, Broken: parts.broken,
		Identity: gateway.Identity{Life: l.id, PID: self.PID, StartTicks: self.StartTicks, BootID: self.BootID, Version: versionInfo().Version},
		Start: gateway.Start{
			Changes: l.loaded.Changes(), NoResume: l.flags.NoResume, FreshStore: l.flags.FreshStore, ReadOnlyStore: l.flags.ReadOnlyStore,
			TrustClock: l.flags.TrustClock,
		},
		Home: l.home.Dir(), HomeID: l.home.ID(), Database: l.home.Database(), Workdir: l.home.Work(),
		Warnings: slices.Concat(l.loaded.Warnings, l.dangers(), manager.Warnings), Redactor: l.redactor,
		ClockConfirmed: clockConfirmed, Booted: sinceBoot,
		SupervisorName: manager.Name(), SupervisorBudget: manager.Budget, SupervisorSource: manager.Source, Notify: manager.Notify,
		ConfigFile: ops.ConfigFile{Path: l.loaded.Path, LoadedAt: ops.At(l.loaded.At)}, ConfigChanged: l.loaded.Changed,
		LogTrouble: l.logs.FileTrouble, APIListen: parts.apiListen, APIAccess: l.apiAccess(), Limits: parts.limits, Demo: parts.demo(l.prepared.demo),
		Mark: func(m gateway.Mark) error {
			return l.spares.spend(func() error {
				return l.home.WriteMarker(instance.Marker{Life: l.id, At: m.At, Reason: m.Reason, By: m.By, Damaged: m.Damaged})
			})
		},
		SaveReport: func(r ops.Shutdown) error { return l.spares.spend(func() error { return files.SaveReport(r) }) },
		LastReport: files.LastReport, Diagnosis: func() (f gateway.File, err error) {
			err = l.spares.spend(func() error { f, err = files.Create("diagnosis"); return err })
			return f, err
		}, Lives: files.List(),
		Dump: func() { _, _ = files.Dump("watchdog") }, // the process ends with or without it
		Exit: l.exit,
		Over: func(code int) {
			backstop(code, func(code int) {
				l.log.Error("the process did not end by itself", "exit_code", code, "bound_ms", endBound.Milliseconds())
				l.exit(code)
			}, os.Exit)
		},
	}
	if c, s := l.loaded.Config.Model, l.secrets.Model; l.prepared.script == nil && s.Missing() && !config.LocalURL(c.BaseURL) {
		o.Warnings = append(o.Warnings, ops.Warning{Code: "model.credentials", Message: "the model's endpoint gets no key: " + (&adapter.CredentialsError{Variable: s.Source, Why: s.Why()}).Error(), Since: ops.At(time.Now())})
	}
	for _, source := range l.secrets.Short() {
		o.Warnings = append(o.Warnings, ops.Warning{
			Code: "config.secret_short", Since: ops.At(time.Now()),
			Message: fmt.Sprintf("the secret in %s has fewer than %d characters: it can be guessed, and is not masked in what tools print", term.Clean(source, lines.MaxLine), term.MinMasked),
		})
	}
	if l.exposed != nil {
		o.Warnings = append(o.Warnings, ops.Warning{
			Code: "process.unprotected", Message: "tools can read what this process holds: " + term.Clean(l.exposed.Error(), lines.MaxLine), Since: ops.At(time.Now()),
		})
	}
	if a := o.APIAccess; a != nil {
		l.log.Info("api access", "event", "api.access", "access", a.String(), "by", a.By, "key_file", a.KeyFile, "key_source", a.KeySource)
		if a.Problem != "" {
			o.Warnings = append(o.Warnings, ops.Warning{Code: "api.key", Message: "other users' programs cannot use the API: " + a.Problem, Since: ops.At(time.Now())})
		}
	}
	marker, found, err := l.home.ConsumeMarker()
	if err != nil {
		o.Warnings = append(o.Warnings, ops.Warning{Code: "marker", Message: err.Error(), Since: ops.At(time.Now())})
	}
	o.LifeBefore, o.MarkerUnread, o.DamagedBefore = marker.Life, found && marker.Life == "", marker.Damaged
	o.Warnings = append(o.Warnings, l.home.Warnings()...)
	for _, a := range l.home.WasSetAside() {
		o.Warnings = append(o.Warnings, ops.Warning{Code: "aside", Message: term.Clean(a.String(), 600), Since: ops.At(a.At)})
	}
	return o
}

// exit ends the process at once, with the terminal as it was. What is logged by then is written, if that does not take
// long.
func (l *life) exit(code int) {
	l.front.Reset()
	ctx, cancel := context.WithTimeout(context.Background(), logBound)
	defer cancel()
	_ = l.logs.Close(ctx) // nobody is left to tell
	if code == shutdown.ExitWatchdog {
		l.succeedByForce()
	}
	os.Exit(code)
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
	s, err := service.FindSupervisor(ctx, l.loaded.Config.Shutdown, l.getenv, once, l.log)
	if wrong, ok := errors.AsType[*service.VariableError](err); ok {
		err = &outcome{exitConfig, &ops.Error{
			Code: ops.CodeInvalid, Message: wrong.Error(), Hint: "set it to what the service manager allows a stop, or unset it",
		}}
	}
	return s, err
}

// succession bounds the start of the next life where this one is ended by force: a fork may hang.
const succession = time.Second

// succeed starts the next life after a restart that nobody else starts it for. The home is free by then: should somebody
// else have taken it, the next life leaves it to them.
func (l *life) succeed() {
	next, err := takeover.OwnInvocation(l.environ, l.home.Dir())
	if err == nil {
		err = next.Start()
	}
	if err != nil {
		l.log.Error("next life not started", "error", term.Clean(err.Error(), lines.MaxLine), "hint", "start it by hand")
		return
	}
	l.log.Info("next life started")
}

// succeedByForce is succeed where the stop did not come to its end, so that we may still hold the home: the next life
// waits for it. It waits for no lock of ours, which may be what the stop hangs at.
func (l *life) succeedByForce() {
	tried := make(chan struct{})
	go func() { // outlives us only as long as the process takes to end
		defer close(tried)
		if l.gateway == nil || !l.gateway.StartsNext() {
			return
		}
		if next, err := takeover.OwnInvocation(l.environ, l.home.Dir()); err == nil {
			next.Waits()
			_ = next.Start() // nobody is left to tell
		}
	}()
	select {
	case <-tried:
	case <-time.After(succession):
	}
}
