package process

import "time"

// lasting is a failure that lasts, and since when; the zero value: there is none.
type lasting struct {
	err   error
	since time.Time
}

// set replaces the failure; nil: there is none any more. It reports whether that began or ended a failure. Registry.mu is
// held.
func (l *lasting) set(err error) (changed bool) {
	changed = (err == nil) != (l.err == nil)
	if l.err = err; changed {
		l.since = time.Now()
	}
	return changed
}

// nudge asks ch's loop to run soon. Several requests count as one.
func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pause waits, and reports whether it did so until the end.
func pause(d time.Duration, cut <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return true
	case <-cut:
		return false
	}
}

// sweepEvery is how often the trees are scanned while there are some.
const sweepEvery = 2 * time.Second
