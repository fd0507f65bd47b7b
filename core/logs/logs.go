// Package logs is where a gateway's log lines go: JSON lines in a rotated file, and readable or JSON lines on stderr
// (CONTRACT.md, 8).
//
// What it promises: logging never blocks the caller, whatever a disk, a pipe or a terminal does; a sink that stalls
// delays no other; a line that could not be taken is counted, and the count is logged. Identical lines are folded and
// the files are bounded, so that a tight error loop neither fills the disk nor silences the log (H9). No
// line carries a known or recognisable secret (I1-I3), and nothing untrusted reaches a terminal raw (I4).
package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"gatewaytui/core/term"
)

// Defaults of Options.
const (
	DefaultMaxBytes = 10 << 20
	DefaultKeep     = 5
)

// Options says where lines go. The zero value drops them all.
type Options struct {
	// Path is the file; empty: none. Its folder must exist. The file must be no symbolic link.
	Path string
	// MaxBytes is the size in bytes from which the file is rotated; 0 is DefaultMaxBytes.
	MaxBytes int64
	// Keep is how many rotated files stay beside the current one; 0 is DefaultKeep.
	Keep int

	// Stderr takes lines as well; nil: none, which is what a console on the same terminal needs.
	Stderr io.Writer
	// StderrLater keeps lines from Stderr until ShowStderr: a console has the terminal until it is left.
	StderrLater bool
	// StderrIsTerminal chooses text for Format auto, and colour unless NO_COLOR is set or TERM is dumb.
	StderrIsTerminal bool
	// Format is how lines look on Stderr: auto, text or json; empty is auto. The file is always JSON.
	Format string

	// Level is the lowest one that is logged: debug, info, warn or error; empty is info.
	Level string
	// Redactor knows the secrets; nil knows none but still masks what looks like one.
	Redactor *term.Redactor
}

// Log is an open log.
type Log struct {
	logger *slog.Logger
	sinks  []*sink
	closed sync.Once
}

// Open opens the log and starts one goroutine for each sink, which Close ends. The file is made, or has its mode
// corrected to 0600, before Open returns.
func Open(o Options) (*Log, error) {
	var level slog.Level
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil {
			return nil, fmt.Errorf("log level %q: not debug, info, warn or error", o.Level)
		}
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
	if o.Path != "" {
		w, err := openRotated(o.Path, cmp.Or(max(o.MaxBytes, 0), DefaultMaxBytes), cmp.Or(max(o.Keep, 0), DefaultKeep), l.madeAgain)
		if err != nil {
			return nil, fmt.Errorf("open log file: %w", err)
		}
		l.sinks = append(l.sinks, newSink(fileName, w, w.Close, jsonForm(o.Redactor)))
	}
	if o.Stderr != nil {
		form := jsonForm(o.Redactor)
		if text {
			form = textForm(o.Redactor, o.StderrIsTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
		}
		s := newSink(stderrName, o.Stderr, nil, form)
		s.off.Store(o.StderrLater)
		l.sinks = append(l.sinks, s)
	}
	l.start(level)
	return l, nil
}

// start runs the sinks.
func (l *Log) start(level slog.Level) {
	h := &handler{level: level}
	for _, s := range l.sinks {
		h.branches = append(h.branches, s.branch())
		s.failed = l.writeFailed
	}
	l.logger = slog.New(h)
	for _, s := range l.sinks {
		go s.run()
	}
}

// Logger is the logger whose lines go to every sink. It may be used at any time: before Close from any goroutine, after
// Close its lines are dropped.
func (l *Log) Logger() *slog.Logger { return l.logger }

// The names of the sinks for Options.Path and Options.Stderr.
const (
	fileName   = "file"
	stderrName = "stderr"
)

// FileTrouble is why lines cannot be written to the file at the moment, and since when; empty if they can. It comes from
// memory alone.
func (l *Log) FileTrouble() (text string, since time.Time) {
	for _, s := range l.sinks {
		if s.name == fileName {
			return s.trouble()
		}
	}
	return "", time.Time{}
}

// madeAgain tells every sink that the file was made again, and why it was not there.
func (l *Log) madeAgain(why string) {
	for _, s := range l.sinks {
		s.log(slog.LevelWarn, "log.made_again", slog.String("sink", fileName), slog.String("reason", why))
	}
}

// ShowStderr lets lines go to Options.Stderr from now on, if StderrLater has kept them from it. The lines before are in the
// file alone.
func (l *Log) ShowStderr() {
	for _, s := range l.sinks {
		if s.name == stderrName {
			s.off.Store(false)
		}
	}
}

// Close writes what is queued and folded, and closes the file. It returns when that is done or when ctx ends; then its
// error says what is lost, and the goroutine of a sink whose writer never returns is left behind with it. More than one
// call waits for the same end.
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

// writeFailed tells the other sinks that one has begun to fail. It is told once: telling each failure would have two
// failing sinks tell each other for ever.
func (l *Log) writeFailed(failed *sink, err error) {
	for _, s := range l.sinks {
		if s != failed {
			s.log(slog.LevelError, "log.write", slog.String("sink", failed.name), slog.String("error", err.Error()))
		}
	}
}
