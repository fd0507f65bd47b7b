package process

import (
	"errors"
	"time"
)

// Times of a kill.
const (
	// verifyWait is how long after KILL the kill looks for survivors. With it and its scans, a kill costs its grace and
	// less than 1 s more, which is what the phases reap and sweep allow (CONTRACT.md, 3).
	verifyWait = 750 * time.Millisecond
	// lateWait replaces verifyWait when ctx has ended.
	lateWait = 50 * time.Millisecond
	// killRound is how often KILL is sent again, for processes that were forked meanwhile.
	killRound = 100 * time.Millisecond
	// steadyLooks is how many scans in a row must find nothing.
	steadyLooks = 5
	// forkWait is how long a final sweep waits for forks under way.
	forkWait = 100 * time.Millisecond
	// scanWait is how long the last scan of a kill may wait for another scan, beyond what the kill may cost. A scan takes
	// some milliseconds. A scan that hangs is reported as hanging (A8).
	scanWait = 100 * time.Millisecond
)

// target is a process that a kill ends. Its pidfd is opened before the identity is read again. From then on it names that
// one process, even if the pid is reused.
type target struct {
	proc
	fd     int // -1: no pidfds, or no descriptor left
	termed bool
	killed bool
	err    error // of the last signal
}

var errNoGroup = errors.New("this kernel cannot signal a group through a pidfd")

func (t *target) why() string {
	switch {
	case t.err != nil && !errors.Is(t.err, errNoGroup):
		return t.err.Error()
	case t.State == 'D':
		return "in uninterruptible sleep: it ends when the kernel releases it"
	case !t.killed:
		return "it was found too late to be signalled"
	}
	return "still alive after KILL"
}
