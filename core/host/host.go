// Package host is the process that hosts one life of a gateway: it takes the home, builds the gateway from the config, serves the
// control socket and the metrics, hands the signals over, and ends when the gateway has.
//
// What it promises: a mistake on the command line or in the config leaves no home behind; what the end of a life must write has
// room and descriptors reserved for it; once the stop has run to its end the process ends within three seconds, even if something hangs
// (A8); a restart that no service manager completes is completed here. It draws nothing: a console is given to it.
package host

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// maxLine bounds one text in a log line or a warning, in characters.
const maxLine = 1000

// Options say which life is hosted, and how.
type Options struct {
	// Home is the home that is named, Config the config file and LockDir the folder of the lock; empty are the usual ones.
	Home, Config, LockDir string
	// LogLevel is the least level of the log, empty for the config's; LogFormat is auto, text or json.
	LogLevel, LogFormat string
	// Demo plays a demo. DemoPlatforms adds made-up platforms.
	Demo          bool
	DemoPlatforms string
	// NoResume leaves the work of the life before as it is. FreshStore and ReadOnlyStore are two ways to start on a damaged database.
	// TrustClock takes the wall clock for right.
	NoResume, FreshStore, ReadOnlyStore, TrustClock bool
	// Getenv reads the environment, and Version is that of this program.
	Getenv  func(string) string
	Version string
	// StderrIsTerminal says that stderr, which takes the log, is a terminal.
	StderrIsTerminal bool
	// Console makes the console in front of the gateway, or says in a few words why there is none; nil wants none.
	Console func(ConsoleOptions) (c Console, why string)
	// Replace takes the home over from the gateway that holds it; ended says that this program is to end instead. nil leaves the
	// home to its holder.
	Replace func(ctx context.Context, home *instance.Home, held *instance.HeldError, record func() instance.Record) (lock *instance.Lock, ended bool, err error)
}

// ConsoleOptions are what a console knows of its gateway before that is built.
type ConsoleOptions struct {
	// Home is the gateway's; Named says that it is not the default one.
	Home  string
	Named bool
	// LastLines are printed after the end; nil is nothing.
	LastLines func(report ops.Shutdown, exitCode int) []string
	// Earlier are the reports of the stops before that of a life, newest first, at most so many.
	Earlier func(life string, most int) []ops.Shutdown
}

// Console is the console in front of the gateway of this process. The gateway never waits for it but in Close, which is bounded.
type Console interface {
	// Open shows the gateway until the console is left. It returns at once.
	Open(Showing)
	// Leave ends the console of a terminal that is gone. It waits for nothing.
	Leave()
	// Close ends the console and says how the gateway has ended. report is nil for one that has not run.
	Close(report *ops.Shutdown, exitCode int)
	// Reset gives the terminal back for a process that ends at once.
	Reset()
}

// Showing is what a console shows, and what it needs for that.
type Showing struct {
	Gateway ops.Console
	Log     *slog.Logger
	Theme   string
	// Crash makes the file that takes the trace of a crash.
	Crash func() (*os.File, error)
	// ShowLog lets the log go to stderr, once the console was left.
	ShowLog func()
	// Lost is called when the terminal is gone.
	Lost func()
}

// noConsole is the Console of a gateway that has none.
type noConsole struct{}

func (noConsole) Open(Showing)             {}
func (noConsole) Leave()                   {}
func (noConsole) Close(*ops.Shutdown, int) {}
func (noConsole) Reset()                   {}

// SetupError is a mistake in the config, the home or the environment: a service manager that starts the gateway again gets the same
// answer.
type SetupError struct{ Err error }

func (e *SetupError) Error() string { return e.Err.Error() }

func (e *SetupError) Unwrap() error { return e.Err }

// UsageError is a command line that cannot be meant.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// wrongUsage is a command line that cannot be meant; hint says what can.
func wrongUsage(hint, message string) error {
	return &UsageError{&ops.Error{Code: ops.CodeInvalid, Message: message, Hint: hint}}
}

// Run runs a gateway from its config to its end and returns the exit code that its stop has planned. The error is a SetupError, a
// UsageError, a config.Error, an instance.HeldError, or another reason why the gateway could not begin.
func Run(ctx context.Context, o Options) (exitCode int, err error) {
	l, err := prepare(o)
	if err != nil {
		return 0, err
	}
	again := false // the next life goes on in this home
	defer func() {
		if !again {
			l.stage.Close()
		}
	}()
	if err := l.openHome(); err != nil {
		return 0, err
	}
	l.signals = catch()
	defer l.signals.release()
	if ended, err := l.acquire(ctx); ended || err != nil {
		return 0, err
	}
	defer l.lock.Release() // the stop has done it already, a start that failed has not
	l.localKey()
	closeLog, err := l.openLog()
	if err != nil {
		return 0, err
	}
	defer closeLog()
	end, err := l.run(ctx)
	again = end.ExitCode == ops.ExitRestart
	l.console.Close(end.Report, end.ExitCode)
	if errors.Is(err, store.ErrUnusable) { // another start would meet the same database (HF24)
		err = &SetupError{err}
	}
	return end.ExitCode, err
}
