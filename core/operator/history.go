package operator

import (
	"context"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/recovery"
	"gatewaytui/core/store"
)

// History implements ops.Console.
func (op *Operator) History(ctx context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	if op.store() == nil {
		return ops.Page[ops.Life]{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the store is not open yet", Hint: "try again in a moment"}
	}
	picks, err := filter.Parse(q.Filter, filter.Lives)
	if err != nil {
		return ops.Page[ops.Life]{}, err
	}
	limit := min(bounded(q.Limit), ops.DefaultLimit)
	p := ops.Page[ops.Life]{Items: make([]ops.Life, 0, limit), Next: q.Cursor}
	add := func(l store.Life) {
		if row := op.pastLife(ctx, l); picks.Match(&row) {
			p.Items = append(p.Items, row)
		}
	}
	if op.o.Recovery.Unrecorded() && q.Cursor == "" {
		add(op.o.Recovery.Row()) // it is not in the store
		limit = max(limit, 1+len(p.Items))
	}
	for {
		// Never more than there is room for: the cursor stands behind what was read, and nothing that was read is left out.
		lives, next, err := op.store().Lives(ctx, limit-len(p.Items), p.Next)
		if err != nil {
			if ops.HasCode(err, ops.CodeInvalid) {
				return ops.Page[ops.Life]{}, err
			}
			return ops.Page[ops.Life]{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the past lives could not be read: " + err.Error()}
		}
		for _, l := range lives {
			add(l)
		}
		if p.Next = next; next == "" || len(p.Items) == limit {
			return p, nil
		}
	}
}

// pastLife is a life with the report of its stop, as far as that can be read.
func (op *Operator) pastLife(ctx context.Context, l store.Life) ops.Life {
	row := recovery.LifeRow(l)
	if s, found, err := op.store().ShutdownOf(ctx, l.ID); err == nil && found {
		row.Shutdown = &s
		if at := s.LastWord(); at.After(row.LastSeenAt.Time) {
			row.LastSeenAt = at
		}
	}
	return row
}
