package process

import (
	"fmt"
	"strings"
	"time"
)

// Survivor is a process that a kill did not end.
type Survivor struct {
	Identity
	// Why is for people.
	Why string
}

// Report is the outcome of a kill.
type Report struct {
	// Verified means that a scan after the last signal found nothing of the target; zombies do not count. Only then is
	// the target "killed".
	Verified bool
	// Signalled are the processes that were sent a signal; Killed are those of them that are gone.
	Signalled, Killed []Identity
	// Survivors are the processes that still exist.
	Survivors []Survivor
	// Escalated is how many processes needed KILL.
	Escalated int
	// TermAt and KillAt are when the first signal of each kind was sent; zero: none was.
	TermAt, KillAt time.Time
	Took           time.Duration
	// Problem is why the kill could not be verified, if the reason is not the survivors.
	Problem error
}

// Steps returns one line for people: which signals were sent and when, in local time, and how many processes needed KILL;
// empty: none was sent (C7).
func (r Report) Steps() string {
	const clock = "15:04:05.000"
	var steps []string
	if !r.TermAt.IsZero() {
		steps = append(steps, "TERM "+r.TermAt.Format(clock))
	}
	if r.KillAt.IsZero() {
		return strings.Join(steps, "")
	}
	steps = append(steps, "KILL "+r.KillAt.Format(clock))
	return fmt.Sprintf("%s: %d of %d needed it", strings.Join(steps, ", "), r.Escalated, len(r.Signalled))
}

// Summary returns the report in one line for people.
func (r Report) Summary() string {
	switch {
	case r.Verified && len(r.Signalled) == 0:
		return "nothing was left to kill"
	case r.Verified:
		return fmt.Sprintf("%d killed, verified", len(r.Killed))
	case r.Problem != nil:
		return fmt.Sprintf("%d signalled, not verified: %v", len(r.Signalled), r.Problem)
	}
	const named = 5
	text := fmt.Sprintf("%d killed, %d survived:", len(r.Killed), len(r.Survivors))
	for _, s := range r.Survivors[:min(len(r.Survivors), named)] {
		text += fmt.Sprintf(" %d (%s)", s.PID, s.Why)
	}
	if more := len(r.Survivors) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
