package host

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// How many descriptors are kept for what a stop must write, and how long and how often a write is tried with them. The write of
// a marker needs two: the file's and the folder's.
const (
	sparesKept  = 2
	sparesAgain = 20 * time.Millisecond
	sparesBound = time.Second
)

// spares are descriptors that are held so that they can be given up when the process has none left: for the marker and the
// reports of a stop, which tell the next life that it was planned, and for a diagnosis (HF12, HF25). The zero value holds none.
type spares struct {
	mu   sync.Mutex // also orders those who spend them
	held []*os.File
}

// take fills the spares up, as far as there are descriptors.
func (s *spares) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fill()
}

func (s *spares) fill() {
	for len(s.held) < sparesKept {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return // the next one who spends them tries again
		}
		s.held = append(s.held, f)
	}
}

func (s *spares) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty()
}

func (s *spares) empty() {
	for _, f := range s.held {
		_ = f.Close() // nothing was written
	}
	s.held = nil
}

// spend runs f. If that fails for want of descriptors, the spares are given up and f runs again, until it succeeds, fails for
// another reason, or sparesBound is over: others may take what was given up.
func (s *spares) spend(f func() error) error {
	err := f()
	if !noDescriptor(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.fill()
	for began := time.Now(); ; {
		s.empty()
		if err = f(); !noDescriptor(err) || time.Since(began) > sparesBound {
			return err
		}
		s.fill() // as one is closed elsewhere, it is ours rather than the next caller's
		<-time.After(sparesAgain)
	}
}

func noDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
