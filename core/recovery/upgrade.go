package recovery

import (
	"time"

	"gatewaytui/core/ops"
)

// warnOfChanges warns of each changed default that this home relied on: found is the schema version that the store had
// before this start, 0 for a new store. The store has the current version from now on, so that the next life does not
// warn again.
func (r *Recovery) warnOfChanges(found int) {
	if found == 0 {
		return
	}
	for _, c := range r.o.Changes {
		if found >= c.Schema {
			continue
		}
		w := c.Warning()
		w.Since = ops.At(time.Now())
		r.log.Warn("default changed", "event", w.Code, "key", c.Key, "old", c.Old, "new", c.New, "text", w.Message)
		r.o.Health.Keep(w)
	}
}
