package process

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// tooOldAgain is how soon the kill of a tree that is too old is tried again after a failure.
const tooOldAgain = time.Minute

// endTooOld begins to end the trees that are older than Options.MaxAge, all of them at once (C1). A sweep calls it
// without waiting for it. The kill ends with the registry at the latest.
func (r *Registry) endTooOld(now time.Time) {
	if r.opts.MaxAge <= 0 {
		return
	}
	old := map[*tree]bool{}
	var rows []ops.Process
	r.mu.Lock()
	for _, t := range r.trees {
		if t.killing > 0 || now.Sub(t.started) < r.opts.MaxAge || now.Sub(t.overdue) < tooOldAgain {
			continue
		}
		t.overdue = now
		old[t] = true
		rows = append(rows, r.row(t, now))
	}
	r.mu.Unlock()
	if len(old) == 0 {
		return
	}
	for _, row := range rows {
		age := time.Duration(row.AgeMS) * time.Millisecond
		r.log.Warn("process tree reached its maximum age", "pid", row.PID, "session", row.Session, "age", age, "max_age", r.opts.MaxAge)
		r.emit(ops.EventProcessTooOld, row, fmt.Sprintf("process %d is %s old, more than process.max_age allows; ending it", row.PID, age))
	}
	// Within grace and 1 s, or at once when the registry closes.
	r.loops.Go(func() { r.end(r.ctx, selection{tree: func(t *tree) bool { return old[t] }}, r.opts.KillGrace) })
}
