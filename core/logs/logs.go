// Package logs is where a gateway's log lines go: JSON lines in a rotated file, and readable or JSON lines on stderr
// (CONTRACT.md, 8).
//
// What it promises: logging never blocks the caller, even if a disk, a pipe or a terminal hangs. A stalled sink delays no
// other sink. Dropped lines are counted, and the count is logged. Identical lines are folded and the files are bounded, so
// that a tight error loop neither fills the disk nor silences the log (H9). No line carries a known or recognisable secret
// (I1-I3), and no untrusted text reaches a terminal raw (I4).
package logs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Defaults of Options.
const (
	defaultMaxBytes = 10 << 20
	defaultKeep     = 5
)

// Options are the targets of the lines. The zero value drops them all.
type Options struct {
	// Path is the file; empty: none. Its folder must exist. The file must not be a symbolic link.
	Path string
	// MaxBytes is the size in bytes from which the file is rotated; 0: defaultMaxBytes.
	MaxBytes int64
	// Keep is how many rotated files are kept in addition to the current one; 0: defaultKeep.
	Keep int

	// Stderr gets the lines as well; nil: none, as needed for a console on the same terminal.
	Stderr io.Writer
	// StderrLater keeps lines from Stderr until ShowStderr, because a console uses the terminal until then.
	StderrLater bool
	// StderrIsTerminal chooses text for Format auto, and colour unless NO_COLOR is set or TERM is dumb.
	StderrIsTerminal bool
	// Format is the format on Stderr: auto, text or json; empty: auto. The file is always JSON.
	Format string

	// Level is the lowest level that is logged: debug, info, warn or error; empty: info.
	Level string
	// Redactor knows the secrets; nil knows none but still masks text that looks like a secret.
	Redactor *term.Redactor
}

// Log is an open log.
type Log struct {
	logger       *slog.Logger
	level        slog.LevelVar // the lowest that is logged
	sinks        []*sink
	file, stderr *sink // those of sinks for Options.Path and Options.Stderr; nil: there is none
	closed       sync.Once
}

// Open opens the log and starts one goroutine for each sink, which Close ends. Before it returns, the file exists with
// mode 0600.
func Open(o Options) (*Log, error) {
	level, err := levelOf(o.Level)
	if err != nil {
		return nil, err
	}
	text := o.Format == "text"
	switch o.Format {
	case "", "auto":
		text = o.StderrIsTerminal
	case "text", "json":
	default:
		return nil, fmt.Errorf("log format %q: not auto, text or json", o.Format)
	}

	l := &Log{}
	l.level.Set(level)
	if o.Path != "" {
		w, err := openRotated(o.Path, cmp.Or(max(o.MaxBytes, 0), defaultMaxBytes), cmp.Or(max(o.Keep, 0), defaultKeep), l.madeAgain)
		if err != nil {
			return nil, fmt.Errorf("open log file: %w", err)
		}
		l.file = newSink("file", w, w.Close, jsonForm(o.Redactor))
		l.sinks = append(l.sinks, l.file)
	}
	if o.Stderr != nil {
		form := jsonForm(o.Redactor)
		if text {
			form = textForm(o.Redactor, o.StderrIsTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
		}
		l.stderr = newSink("stderr", o.Stderr, nil, form)
		l.stderr.off.Store(o.StderrLater)
		l.sinks = append(l.sinks, l.stderr)
	}
	l.start()
	return l, nil
}

// levelOf is the level with a name; the empty name is info.
func levelOf(name string) (level slog.Level, err error) {
	if name != "" && level.UnmarshalText([]byte(name)) != nil {
		return 0, fmt.Errorf("log level %q: not debug, info, warn or error", name)
	}
	return level, nil
}

// SetLevel makes another level the lowest that is logged. One that there is not changes nothing.
func (l *Log) SetLevel(name string) error {
	level, err := levelOf(name)
	if err == nil {
		l.level.Set(level)
	}
	return err
}

// start runs the sinks.
func (l *Log) start() {
	h := &handler{level: &l.level}
	for _, s := range l.sinks {
		h.branches = append(h.branches, s.branch())
		s.failed = l.writeFailed
	}
	l.logger = slog.New(h)
	for _, s := range l.sinks {
		go s.run()
	}
}

// Logger is the logger whose lines go to every sink. It may be used from any goroutine at any time; after Close its lines
// are dropped.
func (l *Log) Logger() *slog.Logger { return l.logger }

// FileTrouble is why lines cannot be written to the file now, and since when; empty: they can. It comes from memory
// alone.
func (l *Log) FileTrouble() (text string, since time.Time) {
	if l.file == nil {
		return "", time.Time{}
	}
	return l.file.trouble()
}

// madeAgain reports to every sink that the file was made again, and why it was missing.
func (l *Log) madeAgain(why string) {
	for _, s := range l.sinks {
		s.log(slog.LevelWarn, ops.LogMadeAgain, slog.String("sink", "file"), slog.String("reason", why))
	}
}

// ShowStderr sends lines to Options.Stderr from now on, if StderrLater has prevented it. Earlier lines are only in the
// file.
func (l *Log) ShowStderr() {
	if l.stderr != nil {
		l.stderr.off.Store(false)
	}
}

// Close writes what is queued and folded, and closes the file. It returns when that is done or when ctx ends. Then its
// error says what is lost, and the goroutine of a sink whose writer never returns is abandoned. Several calls wait for
// the same end.
func (l *Log) Close(ctx context.Context) error {
	l.closed.Do(func() {
		for _, s := range l.sinks {
			s.close()
		}
	})
	var errs []error
	for _, s := range l.sinks {
		if err := s.wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close log %s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

// writeFailed reports to the other sinks that one has begun to fail. It reports that once, because two failing sinks
// would otherwise report each other for ever.
func (l *Log) writeFailed(failed *sink, err error) {
	for _, s := range l.sinks {
		if s != failed {
			s.log(slog.LevelError, ops.LogWrite, slog.String("sink", failed.name), slog.String("error", err.Error()))
		}
	}
}

// library is what the package log writes to. Each Write becomes one line at level warn, with the text in the key "text" (TF44).
type library struct{ log *slog.Logger }

// Write implements io.Writer. It never fails.
func (w library) Write(text []byte) (int, error) {
	w.log.Warn(ops.LogLibrary, "text", string(bytes.TrimSpace(text)))
	return len(text), nil
}

// Capture sends what the package log prints, where libraries such as net/http report, to l until restore is called, cleaned and
// redacted like every line. The package log belongs to the process, so only its main program calls this.
func Capture(l *slog.Logger) (restore func()) {
	writer, flags := log.Writer(), log.Flags()
	log.SetOutput(library{l})
	log.SetFlags(0)
	return func() {
		log.SetOutput(writer)
		log.SetFlags(flags)
	}
}
