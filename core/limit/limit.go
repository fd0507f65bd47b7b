// Package limit holds what all bounds of the section [limits] of the config have in common: a name, what is in use, how
// often the bound was reached, and the resulting warning (HF5, HF9, HF12, HF20). Each bound is enforced where the bounded
// thing is. That code adds one Bound to the gateway's Set and calls Reached whenever something must wait or is refused.
//
// limit.go has the bounds and their set, queue.go the queue in which waiting work is served fairly.
package limit

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/ops"
)

// The names of the bounds, as the config writes them. They are in rows (waiting_for), refusals, metrics and warnings.
const (
	Turns              = "limits.turns"
	ModelCalls         = "limits.model_calls"
	CallsPerTurn       = "limits.calls_per_turn"
	Background         = "limits.background"
	Processes          = "limits.processes"
	ProcessesTotal     = "limits.processes_total"
	TreeMemory         = "limits.tree_memory"
	TreeProcesses      = "limits.tree_processes"
	ToolsMemory        = "limits.tools_memory"
	ToolsProcesses     = "limits.tools_processes"
	QueuedBytes        = "limits.queued_bytes"
	BodyBytes          = "limits.body_bytes"
	ControlConnections = "limits.control_connections"
)

// Recent is how long a reached bound stays a warning.
const Recent = 10 * time.Minute

// Spec describes one bound.
type Spec struct {
	// Name is one of the names above.
	Name string
	// Per is what the bound is counted for, "turn", "session" or "tree"; empty: the whole gateway.
	Per string
	// Bytes says that the bound counts bytes.
	Bytes bool
	// Most is the configured value.
	Most int64
	// Known, if set, is the value in force and replaces Most; while it is 0 there is no bound, and no row. It must be
	// cheap and must not wait.
	Known func() int64
	// Used is how much is in use now; with Per the largest figure of any of them. It must be cheap and must not
	// wait.
	Used func() int64
	// Waiting is how many wait for the bound; nil: excess is refused.
	Waiting func() int
	// Hint is advice for an operator when the bound is reached, other than raising it.
	Hint string
}

// Bound is one bound of a Set. A nil *Bound counts nothing.
type Bound struct {
	spec Spec

	mu      sync.Mutex
	reached uint64
	// since is when the bound was reached after a pause of at least Recent. last is when it was last reached.
	since, last time.Time
}

// Reached counts that something waits for the bound, or was refused for it. It never blocks and may be called with a lock
// held.
func (b *Bound) Reached() {
	if b == nil {
		return
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() || now.Sub(b.last) >= Recent {
		b.since = now
	}
	b.reached++
	b.last = now
}

// Set is the bounds of one gateway. Its methods may be called from any goroutine. The zero value is empty.
type Set struct {
	mu     sync.Mutex
	bounds []*Bound
}

// Add adds a bound. Bounds are added while the gateway is built, each name once.
func (s *Set) Add(spec Spec) *Bound {
	b := &Bound{spec: spec}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bounds = append(s.bounds, b)
	return b
}

// all returns the bounds in the order in which they were added.
func (s *Set) all() []*Bound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bounds)
}

// Rows are the bounds as an operator sees them.
func (s *Set) Rows() []ops.Limit {
	rows := []ops.Limit{}
	for _, b := range s.all() {
		if b.most() > 0 {
			rows = append(rows, b.row())
		}
	}
	return rows
}

// most is the value in force, 0 for none.
func (b *Bound) most() int64 {
	if b.spec.Known != nil {
		return b.spec.Known()
	}
	return b.spec.Most
}

func (b *Bound) row() ops.Limit {
	row := ops.Limit{Name: b.spec.Name, Per: b.spec.Per, Used: b.spec.Used(), Bound: b.most()}
	if b.spec.Bytes {
		row.Unit = "bytes"
	}
	if b.spec.Waiting != nil {
		row.Waiting = b.spec.Waiting()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	row.Reached, row.LastReachedAt = b.reached, ops.At(b.last)
	return row
}

// amount is n in the bound's unit, for people.
func (b *Bound) amount(n int64) string {
	if b.spec.Bytes {
		return humanize.IBytes(uint64(max(n, 0)))
	}
	return strconv.FormatInt(n, 10)
}

// Warnings are the bounds that something waits for now, or that were reached within Recent of now. The code of a warning is
// the name of its bound.
func (s *Set) Warnings(now time.Time) []ops.Warning {
	var out []ops.Warning
	for _, b := range s.all() {
		if w, is := b.warning(now); is {
			out = append(out, w)
		}
	}
	return out
}

func (b *Bound) warning(now time.Time) (w ops.Warning, is bool) {
	row := b.row()
	b.mu.Lock()
	since, last := b.since, b.last
	b.mu.Unlock()
	if row.Waiting == 0 && (last.IsZero() || now.Sub(last) >= Recent) {
		return w, false
	}
	text := fmt.Sprintf("%s (%s) was reached", row.Name, b.amount(row.Bound))
	switch {
	case row.Waiting > 0:
		text = fmt.Sprintf("%s (%s) is reached: %d waiting", row.Name, b.amount(row.Bound), row.Waiting)
	case row.Reached > 1:
		text += fmt.Sprintf(" %d times in this life", row.Reached)
	}
	text += "; raise " + row.Name
	if b.spec.Hint != "" {
		text += ", or " + b.spec.Hint
	}
	return ops.Warning{Code: row.Name, Message: text, Since: ops.At(since)}, true
}
