package recovery

import (
	"context"
	"maps"
	"slices"
	"time"

	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// retentionBatch is how many rows of each table one step deletes, or looks at.
const retentionBatch = 500

// Prune deletes what has ended for longer than its retention, in small steps, and logs what. It ends when the clock becomes
// doubted: nothing is deleted by a doubted clock (HF21).
func (r *Recovery) Prune(ctx context.Context) {
	r.pruneRows(ctx)
	r.cutOutputs(ctx)
	r.pruneMedia(ctx)
}

// pruneMedia deletes the files of chats that are older than their retention.
func (r *Recovery) pruneMedia(ctx context.Context) {
	old := before(r.keep().Media)
	if old.IsZero() || ctx.Err() != nil || r.o.Health.ClockDoubted() {
		return
	}
	p, err := r.o.Media.Prune(ctx, old)
	if err != nil {
		r.log.Warn("old files of chats not deleted", "error", term.Clean(err.Error(), 300))
	}
	if p.Files > 0 {
		r.log.Info("old files of chats deleted", "older_than", r.keep().Media, "count", p.Files, "bytes", p.Bytes)
	}
}

// before is when something must have ended to be deleted after keep; zero: it is kept for ever.
func before(keep time.Duration) time.Time {
	if keep <= 0 {
		return time.Time{}
	}
	return time.Now().Add(-keep)
}

func (r *Recovery) pruneRows(ctx context.Context) {
	total, keep := store.Pruned{}, r.keep()
	for ctx.Err() == nil && !r.o.Health.ClockDoubted() {
		step, cancel := r.Store().Patience(ctx, store.Stall)
		p, err := r.Store().Prune(step, store.Cutoffs{
			Transcripts: before(keep.Transcripts), Audit: before(keep.Audit), Rest: before(store.Retention),
		}, retentionBatch)
		cancel()
		if err != nil {
			r.log.Warn("old rows not deleted", "error", term.Clean(err.Error(), 300))
			return
		}
		total.Add(p)
		if len(p) == 0 {
			break
		}
		r.o.Background.Progress(ctx, 0, 0, text.Count(total.Sum(), "old row")+" deleted") // how many are old is not known
	}
	if len(total) > 0 {
		args := []any{"transcripts", keep.Transcripts, "audit", keep.Audit, "rest", store.Retention}
		for _, table := range slices.Sorted(maps.Keys(total)) {
			args = append(args, "deleted_"+table, total[table])
		}
		r.log.Info("old rows deleted", args...)
	}
}

// cutOutputs deletes the long results of tools that are older than their retention. It looks at each message once in a life.
func (r *Recovery) cutOutputs(ctx context.Context) {
	old := before(r.keep().ToolOutputs)
	count, bytes := 0, int64(0)
	for !old.IsZero() && ctx.Err() == nil && !r.o.Health.ClockDoubted() {
		step, cancel := r.Store().Patience(ctx, store.Stall)
		cut, err := r.Store().CutOutputs(step, r.outputsCut, old, retentionBatch)
		cancel()
		if err != nil {
			r.log.Warn("old results of tools not deleted", "error", term.Clean(err.Error(), 300))
			return
		}
		r.outputsCut, count, bytes = cut.Last, count+cut.Outputs, bytes+cut.Bytes
		if !cut.More {
			break
		}
	}
	if count > 0 {
		r.log.Info("old results of tools deleted", "older_than", r.keep().ToolOutputs, "count", count, "bytes", bytes)
	}
}
