package recovery

import (
	"context"
	"maps"
	"slices"
	"time"

	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// retentionBatch is how many rows of each table one step deletes.
const retentionBatch = 500

// Prune deletes what has ended longer than store.Retention ago, in small steps, and logs what. It ends when the clock becomes
// doubted: nothing is deleted by a doubted clock (HF21).
func (r *Recovery) Prune(ctx context.Context) {
	total := store.Pruned{}
	for ctx.Err() == nil && !r.o.Health.ClockDoubted() {
		step, cancel := r.Store().Patience(ctx, store.Stall)
		p, err := r.Store().Prune(step, time.Now().Add(-store.Retention), retentionBatch)
		cancel()
		if err != nil {
			r.log.Warn("old rows not deleted", "error", term.Clean(err.Error(), 300))
			return
		}
		total.Add(p)
		if len(p) == 0 {
			break
		}
	}
	if len(total) > 0 {
		args := []any{"older_than", store.Retention}
		for _, table := range slices.Sorted(maps.Keys(total)) {
			args = append(args, table, total[table])
		}
		r.log.Info("old rows deleted", args...)
	}
}
