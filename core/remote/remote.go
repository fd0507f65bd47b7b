// Package remote is the gateway on a home as another process sees it: found by the files of the home, asked over its control
// socket, and followed until its process has ended.
//
// What it promises: "no gateway runs" is said only where no process listens and the process of the pid file does not live; the
// end of a stop is known by the process and by its report on disk, and not by a closed connection. Every wait is bounded.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
)

// Gateway is the gateway on a home, if one runs there.
type Gateway struct {
	*control.Client
	Home string
	// Found is what the home's files said of its process when it was looked for.
	Found instance.Found
}

// ErrNoHome marks the answer that there can be no gateway, because there is no home.
var ErrNoHome = errors.New("no home")

// Unavailable is an error that says that no gateway answers, and why.
type Unavailable struct{ error }

// Unwrap returns why.
func (u *Unavailable) Unwrap() error { return u.error }

// Find finds the control socket of the home, an absolute path. It does not connect. The caller closes what it returns. The error is
// Unavailable.
func Find(home string, opts control.ClientOptions) (*Gateway, error) {
	found, err := instance.Locate(home)
	if ops.HasCode(err, ops.CodeUnavailable) {
		err = errors.Join(err, ErrNoHome)
	}
	if err != nil {
		return nil, &Unavailable{err}
	}
	opts.Owner = found.Owner
	return &Gateway{Client: control.NewClient(found.Control, opts), Home: home, Found: found}, nil
}

// StatusOf asks the gateway on home for its status once.
func StatusOf(ctx context.Context, home string) (ops.Status, error) {
	g, err := Find(home, control.ClientOptions{})
	if err != nil {
		return ops.Status{}, err
	}
	defer g.Close()
	return g.Status(ctx)
}

// Unreachable reports whether err says that a gateway did not answer.
func Unreachable(err error) bool {
	_, ok := errors.AsType[*control.Unreachable](err)
	return ok
}

// Gone reports whether err says that no process is behind the control socket.
func Gone(err error) bool {
	u, ok := errors.AsType[*control.Unreachable](err)
	return ok && u.Gone
}

// Explain says more about a socket without a listener: that alone does not mean that no gateway lives (H1).
// It also says more of a gateway that does not answer because its process is stopped.
func (g *Gateway) Explain(err error) error {
	if Unreachable(err) && errors.Is(err, context.DeadlineExceeded) && g.Stopped() {
		pid := g.Found.Record.PID
		return &Unavailable{&ops.Error{
			Code:    ops.CodeUnavailable,
			Message: fmt.Sprintf("the gateway does not answer: its process %d is stopped (SIGSTOP, or a debugger)", pid),
			Hint:    fmt.Sprintf("kill -CONT %d lets it go on; gatewaytui --replace does that and takes its place", pid),
		}}
	}
	if !Gone(err) {
		return err
	}
	now, locateErr := instance.Locate(g.Home)
	if locateErr != nil || now.Record.PID == 0 || now.Known && !now.Alive {
		return err // a pid file that an earlier life left behind says nothing
	}
	return &Unavailable{silent(now)}
}

// silent is the answer about a gateway that may live but does not listen.
func silent(f instance.Found) *ops.Error {
	message := fmt.Sprintf("no process listens on the control socket %s, and whether pid %d of the pid file lives cannot be known from here", f.Control, f.Record.PID)
	hint := "ask on the machine and in the container that it runs in"
	if f.Known {
		message = fmt.Sprintf("pid %d lives on this home, but no process listens on its control socket %s: it is starting or ending", f.Record.PID, f.Control)
		hint = fmt.Sprintf("ask again in a moment; if it stays so: kill -QUIT %d, and look in dumps/", f.Record.PID)
	}
	return &ops.Error{Code: ops.CodeUnavailable, Message: message, Hint: hint}
}

// A gateway that closes its socket may hang up on a client that connects at that moment. The next look finds no listener.
const (
	looks     = 10
	lookEvery = 20 * time.Millisecond
)

// Recheck finds out what became of a gateway that hung up: it returns the life that answers now, or why none does. An err
// that says so already is returned as it is.
func (g *Gateway) Recheck(ctx context.Context, err error) (life string, _ error) {
	for range looks {
		if !Unreachable(err) || Gone(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			return "", err
		}
		var s ops.Status
		if s, err = g.Status(ctx); err == nil {
			return s.Life, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return "", err
		}
	}
	return "", err
}

// Stopped reports whether the process that was found is stopped; false where that is not known.
func (g *Gateway) Stopped() bool {
	if alive, known := instance.Alive(g.Found.Record); !known || !alive {
		return false
	}
	p, err := kernel.StatOf(g.Found.Record.PID)
	return err == nil && (p.State == 'T' || p.State == 't') // proc_pid_stat(5)
}

// Ended reports whether the process that was found has ended; false where that is not known.
func (g *Gateway) Ended() bool {
	alive, known := instance.Alive(g.Found.Record)
	return known && !alive
}

// askConfig is what a running gateway may take to say which config file it has.
const askConfig = 2 * time.Second

// RunningConfig is the config file of the gateway that runs on the home that named, a --home, and the environment mean; false if
// none answers.
func RunningConfig(ctx context.Context, named string, getenv func(string) string) (ops.ConfigFile, bool) {
	home, err := instance.Resolve(named, getenv)
	if err != nil {
		return ops.ConfigFile{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, askConfig)
	defer cancel()
	s, err := StatusOf(ctx, home)
	if err != nil || s.Config.LoadedAt.IsZero() { // an earlier version does not say
		return ops.ConfigFile{}, false
	}
	return s.Config, true
}

// AgreeConfig is the config file that a verb looks at while a gateway runs, and a note where that is not obvious. flag is the file of
// the verb's --config, empty for none: without it $GATEWAYTUI_CONFIG counts.
func AgreeConfig(flag string, getenv func(string) string, running ops.ConfigFile) (path, note string) {
	named := cmp.Or(flag, getenv("GATEWAYTUI_CONFIG"))
	switch {
	case named != "" && !SameFile(named, running.Path):
		return flag, "the gateway that runs on this home has another config, " + cmp.Or(running.Path, "the "+config.Embedded)
	case named != "":
		return flag, ""
	case running.Path == "":
		return "", "" // the default one: where there is a file now, status and doctor say that it is not in force
	}
	return running.Path, "this is the config of the gateway that runs on this home: " + running.Path
}

// SameFile reports whether both paths are written alike once they are absolute.
func SameFile(a, b string) bool {
	abs, err := filepath.Abs(a)
	return err == nil && abs == filepath.Clean(b)
}
