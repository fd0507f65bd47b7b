package process

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// LimitError refuses a spawn because the bound on tracked trees is reached.
type LimitError struct {
	// Name is the bound, limit.Processes or limit.ProcessesTotal, and Bound its value.
	Name  string
	Bound int
	// Running are the trees of the requesting session, oldest first.
	Running []ops.Process
}

// shownTrees is how many trees a LimitError names.
const shownTrees = 5

func (e *LimitError) Error() string {
	whose := "this session"
	if e.Name == limit.ProcessesTotal {
		whose = "all sessions"
	}
	text := fmt.Sprintf("%d process trees of %s are running, which is the limit (%s)", e.Bound, whose, e.Name)
	if len(e.Running) == 0 {
		return text + "; try again later"
	}
	var running []string
	for _, row := range e.Running[:min(len(e.Running), shownTrees)] {
		running = append(running, fmt.Sprintf("pid %d %s (%s)", row.PID, row.Command, (time.Duration(row.AgeMS)*time.Millisecond).Round(time.Second)))
	}
	if more := len(e.Running) - shownTrees; more > 0 {
		running = append(running, fmt.Sprintf("and %d more", more))
	}
	return text + "; end one that is not needed with the tool process (action kill), or wait. Running in this session: " + strings.Join(running, ", ")
}

// held is how many trees each session has, starts under way included. Registry.mu is held.
func (r *Registry) held() map[string]int { return bySession(r.trees, r.pending) }

// Held is how many trees the session with the most trees has, and how many all sessions have, starts under way included.
func (r *Registry) Held() (most, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.held() {
		most = max(most, n)
	}
	return most, len(r.trees) + len(r.pending)
}

// full is the bound that one more tree of session would exceed; empty: none. Registry.mu is held.
func (r *Registry) full(session string) (name string, most int) {
	rules := r.rules.Load()
	switch {
	case rules.PerSession > 0 && session != "" && r.held()[session] >= rules.PerSession:
		return limit.Processes, rules.PerSession
	case rules.Total > 0 && len(r.trees)+len(r.pending) >= rules.Total:
		return limit.ProcessesTotal, rules.Total
	}
	return "", 0
}

// makeRoom removes trees that have ended and that no scan has removed yet, if one more tree of session would exceed a
// bound. So commands that ended do not count against the bound, however quickly they came.
func (r *Registry) makeRoom(ctx context.Context, session string) {
	ended, left := r.endedOf(session)
	if len(ended) == 0 {
		return
	}
	// First all at once, else one by one: one tree with running processes must not keep the others.
	if r.childrenGone(selection{tree: left}) {
		return
	}
	for _, t := range ended[:min(len(ended), mostLooks)] {
		r.childrenGone(only(t))
	}
	// Two scans that find nothing of a tree decide the remaining cases (absorb).
	for range 2 {
		if ended, _ := r.endedOf(session); len(ended) == 0 || ctx.Err() != nil {
			return
		}
		r.observe(ctx, time.Now().Add(scanBound), false)
	}
}

// endedOf are the trees whose leader has ended, and the selection of them, if one more tree of session would exceed a
// bound; nil: it would not, or there are none.
func (r *Registry) endedOf(session string) (ended []*tree, left func(t *tree) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, _ := r.full(session)
	if name == "" {
		return nil, nil
	}
	left = func(t *tree) bool { // not a start under way, which has no leader yet
		return !t.leading && t.leader != (ident{}) && t.origin == ops.OriginSpawned && (t.session == session || name == limit.ProcessesTotal)
	}
	for _, t := range r.trees {
		if left(t) {
			ended = append(ended, t)
		}
	}
	return ended, left
}

// scanBound bounds the wait for one scan before a spawn is refused.
const scanBound = time.Second

// mostLooks bounds how many trees makeRoom checks one by one.
const mostLooks = 64

// limited is the refusal of a spawn of session. Registry.mu is not held.
func (r *Registry) limited(session string, name string, most int) error {
	if r.opts.OnLimit != nil {
		r.opts.OnLimit(name)
	}
	return &LimitError{Name: name, Bound: most, Running: r.SessionRows(session)}
}
