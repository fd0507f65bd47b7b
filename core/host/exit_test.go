package host

import (
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/lives"
)

// A8: a process whose end hangs is ended with its exit code; if that hangs as well, without another word.
func TestA8_AProcessThatDoesNotEndIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		release := make(chan struct{})
		type end struct {
			after time.Duration
			code  int
		}
		ends := make(chan end, 2)
		say := func(code int) { ends <- end{time.Since(began), code} }
		backstop(75, func(code int) { say(code); <-release }, say)
		for _, want := range []end{{endBound, 75}, {endBound + endSlack, 75}} {
			if got := <-ends; got != want {
				t.Errorf("it was ended after %v with %d, and %v with %d is promised", got.after, got.code, want.after, want.code)
			}
		}
		close(release)
	})
}

// A8: what a signal began and what hangs, such as a dump to a slow disk, does not hold up the end.
func TestA8_ASignalThatHangsDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &signals{ch: make(chan os.Signal), pipe: make(chan os.Signal)}
		release := make(chan struct{})
		stop := s.handOver(nil, lives.Files{}, func() { <-release }, nil, slog.New(slog.DiscardHandler))
		s.ch <- syscall.SIGHUP
		stop()
		if took := time.Since(began); took != logBound {
			t.Errorf("it took %v, and %v is promised", took, logBound)
		}
		close(release)
	})
}
