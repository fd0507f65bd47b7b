package host

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/oklog/ulid/v2"

	madeup "gatewaytui/core/adapter/demo"
	"gatewaytui/core/config"
	"gatewaytui/core/demo"
	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/logs"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

// prepare reads what the flags and the config name. Nothing is written: a mistake on the command line leaves no home behind (TF47).
func prepare(o Options) (*life, error) {
	l := &life{o: o, id: ulid.Make().String(), environ: os.Environ(), console: noConsole{}}
	l.exposed = process.Protect() // before the config names a secret
	if o.FreshStore && o.ReadOnlyStore {
		return nil, wrongUsage("choose one", "--fresh-store and --read-only-store are two ways to start on a damaged database")
	}
	boundMemory(o.Getenv)
	var err error
	if l.loaded, err = loadConfig(o); err != nil {
		return nil, err
	}
	l.loaded.Config.Log.Level = cmp.Or(o.LogLevel, l.loaded.Config.Log.Level)
	l.secrets = l.loaded.Config.Credentials(o.Getenv)
	if l.prepared, err = readNamed(o, l.loaded.Config, l.secrets); err != nil {
		return nil, err
	}
	if o.Demo {
		l.stage, err = demo.NewHome(o.Home, o.Getenv)
		if errors.Is(err, instance.ErrForeign) {
			err = &SetupError{err}
		}
		if err != nil {
			return nil, err
		}
		l.o.Home = l.stage.Dir // from here on it is the home that was named
	}
	return l, nil
}

// loadConfig is the config of the file, or of a demo.
func loadConfig(o Options) (config.Loaded, error) {
	switch {
	case !o.Demo:
		return config.Load(config.Options{Path: o.Config})
	case o.Config != "":
		return config.Loaded{}, wrongUsage("leave one of them out; --demo-platforms adds made-up platforms to your own config", "--demo reads no config, and --config names one")
	}
	return demo.Config()
}

// openHome makes the home where it is not there, and takes the folder of its lock.
func (l *life) openHome() error {
	dir, err := instance.Resolve(l.o.Home, l.o.Getenv)
	if err != nil {
		return err
	}
	lockDir, err := LockDir(l.o.LockDir)
	if err != nil {
		return err
	}
	l.home, err = instance.Open(dir)
	// A service manager that tries again gets the same answer. EPERM is what belongs to another user.
	if errors.Is(err, instance.ErrForeign) || errors.Is(err, instance.ErrExposed) || errors.Is(err, syscall.EPERM) {
		return &SetupError{err}
	}
	if err != nil {
		return err
	}
	if err := l.stage.Mark(); err != nil {
		return err
	}
	if lockDir != "" {
		return l.home.LockIn(lockDir)
	}
	return nil
}

// acquire takes the home, from its holder where that is wanted. ended says that the program is to end.
func (l *life) acquire(ctx context.Context) (ended bool, err error) {
	l.lock, err = l.home.Acquire(l.record())
	if held, ok := errors.AsType[*instance.HeldError](err); ok && l.o.Replace != nil {
		l.lock, ended, err = l.o.Replace(ctx, l.home, held, l.record)
	}
	if errors.Is(err, instance.ErrNoLocks) { // a service manager that tries again would do so for ever (B18)
		return false, &SetupError{err}
	}
	return ended, err
}

// openLog makes the console, where one is wanted and can be had, and opens the log. The caller calls what it returns.
func (l *life) openLog() (closeLog func(), err error) {
	l.redactor = term.NewRedactor(l.secrets.Values()...)
	none := true
	why := ""
	if l.o.Console != nil {
		var c Console
		c, why = l.o.Console(ConsoleOptions{Home: l.home.Dir(), Named: l.o.Home != "" || l.o.Getenv("GATEWAYTUI_HOME") != "", LastLines: l.lastLines(), Earlier: lives.Files{Dir: l.home.Dumps()}.Earlier})
		if c != nil {
			l.console, none = c, false
		}
	}
	// The terminal is the console's alone. A gateway whose console was left becomes one without a console, log included.
	l.home.CheckLog()
	l.logs, err = logs.Open(logs.Options{
		Path: l.home.Log(), Level: l.loaded.Config.Log.Level, Redactor: l.redactor,
		Stderr: os.Stderr, StderrIsTerminal: l.o.StderrIsTerminal, Format: l.o.LogFormat, StderrLater: !none,
	})
	if err != nil {
		return nil, err
	}
	l.log = l.logs.Logger()
	uncapture := logs.Capture(l.log)
	if why != "" {
		l.log.Info("running without a console ("+why+"); `gatewaytui attach` in another terminal shows it, ctrl+c or `gatewaytui stop` stops it", "why", why)
	}
	if l.stage != nil && none {
		dir := l.home.Dir()
		l.log.Info("this is the demo: made-up platforms and people, a scripted model, a home of its own; in another terminal: gatewaytui status --home "+dir, "home", dir)
	}
	return func() {
		uncapture()
		ctx, cancel := context.WithTimeout(context.Background(), logBound)
		defer cancel()
		_ = l.logs.Close(ctx) // no reader is left
	}, nil
}

// lastLines makes what a demo prints at its end; nil where the gateway is not a demo.
func (l *life) lastLines() func(ops.Shutdown, int) []string {
	if l.stage == nil {
		return nil
	}
	hangs := madeup.Hangs(l.prepared.demo)
	return func(report ops.Shutdown, exitCode int) []string {
		if exitCode == ops.ExitRestart {
			return nil
		}
		return l.stage.LastLines(report, hangs)
	}
}

// LockDir makes the value of --lock-dir absolute and refuses one that cannot be used, before a home is made; empty
// stays empty.
func LockDir(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return abs, instance.CheckLockDir(abs)
}

// boundMemory has Go's garbage collector keep this program below nine tenths of the memory limit of its control group, if
// there is one, so that the kernel does not end it for garbage (HF4). A GOMEMLIMIT of the person's own stays.
func boundMemory(getenv func(string) string) {
	if limit := memoryBound(process.MemoryLimit(), getenv("GOMEMLIMIT")); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryBound is the limit for the garbage collector, in bytes; 0: it is left as it is.
func memoryBound(group uint64, own string) int64 {
	if group == 0 || group > math.MaxInt64 || own != "" {
		return 0
	}
	return int64(group / 10 * 9)
}
