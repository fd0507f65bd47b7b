package host

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"gatewaytui/core/bound"
	"gatewaytui/core/gateway"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
)

// signals are those that a gateway answers to (CONTRACT.md, 1). They are caught before the home is taken, so that one
// that comes during the start is not lost, and waits for the gateway that it is meant for.
type signals struct {
	ch chan os.Signal
	// pipe swallows SIGPIPE: with a handler, a write to a closed stderr is an error and not the end, and children still
	// begin with the default, which an ignored signal would take from them.
	pipe chan os.Signal
}

func catch() *signals {
	s := &signals{ch: make(chan os.Signal, 16), pipe: make(chan os.Signal, 1)}
	wanted := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // nohup(1) means what it says
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(s.ch, wanted...)
	signal.Notify(s.pipe, syscall.SIGPIPE)
	return s
}

func (s *signals) release() {
	signal.Stop(s.ch)
	signal.Stop(s.pipe)
}

// handOver lets the signals steer g until the function that it returns is called; that waits for the last one, but no longer
// than logBound: a dump to a disk that hangs is abandoned. lost is
// called when the terminal is gone, exit when there is nothing left to wait for.
func (s *signals) handOver(g *gateway.Gateway, files lives.Files, lost func(), exit func(code int), log *slog.Logger) (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ends := 0
		for {
			select {
			case <-over:
				return
			case <-s.pipe:
			case sig := <-s.ch:
				switch sig {
				case syscall.SIGTERM, syscall.SIGINT:
					ends++
					end(g, sig.(syscall.Signal), ends, exit, log)
				case syscall.SIGUSR1:
					g.Stop(gateway.StopRequest{Mode: ops.ModeGraceful, Reason: "SIGUSR1: planned restart", By: "signal", Restart: true})
				case syscall.SIGQUIT:
					running.Go(func() { dumpAndSay(files, log) }) // a slow disk must not hold up the next signal
				case syscall.SIGHUP:
					lost()
				}
			}
		}
	})
	return func() {
		close(over)
		ended := func(context.Context) error { running.Wait(); return nil }
		if bound.Run(context.Background(), logBound, ended) != nil {
			log.Warn("still running at exit", "what", "a signal's work")
		}
	}
}

// end is the n-th signal to end: graceful, fast, immediate, and then there is nothing left to wait for.
func end(g *gateway.Gateway, sig syscall.Signal, n int, exit func(code int), log *slog.Logger) {
	name := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"}[sig]
	code := 128 + int(sig)
	rq := gateway.StopRequest{Reason: name, By: "signal"}
	switch n {
	case 1:
		rq.Mode = ops.ModeGraceful
	case 2:
		rq.Mode, rq.Reason = ops.ModeFast, "second "+name
	case 3:
		rq.Mode, rq.Reason, rq.ExitCode = ops.ModeImmediate, "third "+name, code
	default:
		log.Error("ended by a further signal", "signal", name, "exit_code", code)
		exit(code)
	}
	g.Stop(rq)
}

// hangup: the terminal is gone. The gateway goes on unless the config says otherwise.
func hangup(g *gateway.Gateway, onHangup string, log *slog.Logger) {
	if onHangup == "stop" {
		g.Stop(gateway.StopRequest{Mode: ops.ModeGraceful, Reason: "SIGHUP: the terminal is gone and console.on_hangup is stop", By: "signal"})
		return
	}
	log.Warn("the terminal is gone; the gateway goes on (console.on_hangup)")
}

func dumpAndSay(files lives.Files, log *slog.Logger) {
	path, err := files.Dump("sigquit")
	if err != nil {
		log.Error("goroutine dump not written", "error", err.Error())
		return
	}
	log.Warn("goroutine dump written", "path", path, "hint", fmt.Sprintf("kill -TERM %d stops the gateway", os.Getpid()))
}
