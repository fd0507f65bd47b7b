package shutdown

import (
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// Concurrent helpers of the executor: the report's file, the log and the observer. Each may hang on a dead disk or a
// frozen terminal, so each has its own goroutine, and the executor waits for it only for a bounded time.

// In a phase with more than manyItems the write of an item's end is delayed by saveLater, to be combined with others. So
// a report of a thousand items that end one by one is not encoded a thousand times.
const (
	manyItems = 64
	saveLater = 100 * time.Millisecond
)

// saver writes the report after every transition, but see manyItems. Where writing is slow it skips to the latest.
type saver struct {
	r          *Run
	kick       chan struct{} // holds one token
	later      chan struct{} // holds one token
	quit, gone chan struct{}

	mu             sync.Mutex // guards what follows; may be taken while Run.mu is held, never the other way round
	asked, written uint64
	changed        chan struct{} // closed and replaced when written grows
}

func newSaver(r *Run) *saver {
	s := &saver{
		r: r, kick: make(chan struct{}, 1), later: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
		changed: make(chan struct{}),
	}
	if r.o.Save == nil {
		close(s.gone)
		return s
	}
	go s.run()
	return s
}

// ask requests the current report on disk and returns the number to wait for.
func (s *saver) ask() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	nudge(s.kick)
	return s.asked
}

// soon requests the report on disk within saveLater.
func (s *saver) soon() { nudge(s.later) }

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (s *saver) run() {
	defer close(s.gone)
	told := false
	write := func() {
		s.mu.Lock()
		n := s.asked
		s.mu.Unlock()
		guard(func() error { return s.r.o.Save(s.r.report()) }, func(f failure) {
			if f.bad && !told {
				told = true
				s.r.news.add(Event{At: time.Now(), Type: ops.EventWarning, fault: f.text, stack: f.stack})
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.written = n
		close(s.changed)
		s.changed = make(chan struct{})
	}
	// No item is asked for progress before a transition is on disk. Their answers are written as well, and an item that
	// does not answer delays nothing.
	var asked <-chan struct{}
	pause := time.NewTimer(0)
	defer pause.Stop()
	pause.Stop()
	waits := false // for pause
	for {
		select {
		case <-s.kick:
			write()
			asked = s.r.probe()
		case <-s.later:
			if !waits {
				waits = true
				pause.Reset(saveLater)
			}
		case <-pause.C:
			waits = false
			write()
			asked = s.r.probe()
		case <-asked:
			asked = nil
			write()
		case <-s.quit: // the end of the stop was requested, and with it the delayed write
			select {
			case <-s.kick:
				write()
			default:
			}
			return
		}
	}
}

// wait returns when save number n is written, or after d.
func (s *saver) wait(n uint64, d time.Duration) {
	var timer *time.Timer
	for {
		s.mu.Lock()
		done, changed := s.written >= n, s.changed
		s.mu.Unlock()
		if done {
			break
		}
		if timer == nil {
			timer = time.NewTimer(d)
			defer timer.Stop()
		}
		select {
		case <-changed:
		case <-s.gone:
			return
		case <-timer.C:
			return
		}
	}
}

// close writes the last requested report and ends the goroutine. One that hangs is abandoned at until.
func (s *saver) close(until time.Time) {
	close(s.quit)
	waitUntil(s.gone, until)
}

// waitUntil returns when c is closed, or at until.
func waitUntil(c <-chan struct{}, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
	}
}
