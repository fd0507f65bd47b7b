package operator

import (
	"context"
	"slices"
	"strconv"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/recovery"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// sessionRows joins the table's rows of a selection with what the cache and the registry know of each.
func (op *Operator) sessionRows(sel session.Selection) (rows []ops.Session, next session.Cursor, scanned int) {
	rows, next, scanned = op.o.Table.Page(sel)
	count, names := op.o.Processes.CountSessions(), op.o.Environments.Names()
	for i := range rows {
		_, cached := op.o.Cache.Peek(rows[i].Key)
		rows[i].Processes, rows[i].Cached, rows[i].Environment = count[rows[i].Key], cached, names[rows[i].Key]
	}
	op.untitle(rows)
	return rows, next, scanned
}

// Sessions implements ops.Console. A page costs the same at any number of sessions; a filter looks at MaxScan of them at
// most, and at none of a group that has no row with a state that it asks for.
func (op *Operator) Sessions(_ context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	if q.Key != "" {
		return op.oneSession(q.Key), nil
	}
	picks, err := filter.Parse(q.Filter, filter.Sessions)
	if err != nil {
		return ops.Page[ops.Session]{}, err
	}
	sel := session.Selection{Limit: ops.PageSize(q.Limit), Scan: ops.MaxScan}
	if sel.After, err = session.ParseCursor(q.Cursor); err != nil {
		return ops.Page[ops.Session]{}, err
	}
	if !picks.All() {
		sel.Match = picks.Match
		sel.Groups = func(group ops.SessionGroup) bool {
			return group == ops.GroupAttention || slices.ContainsFunc(ops.SessionStates, func(s ops.SessionState) bool {
				return s.Group() == group && picks.Could("state", string(s))
			})
		}
	}
	rows, next, scanned := op.sessionRows(sel)
	p := ops.Page[ops.Session]{Items: append([]ops.Session{}, rows...), Next: next.String()}
	if p.Next != "" && len(rows) < sel.Limit {
		p.Scanned = scanned
	}
	return p, nil
}

// oneSession is the page with the session of key, empty if there is none.
func (op *Operator) oneSession(key string) ops.Page[ops.Session] {
	row, found := op.o.Table.Row(key)
	if !found {
		return ops.Page[ops.Session]{Items: []ops.Session{}}
	}
	_, row.Cached = op.o.Cache.Peek(key)
	row.Processes, row.Environment = op.o.Processes.CountSession(key), op.o.Environments.Names()[key]
	rows := []ops.Session{row}
	op.untitle(rows)
	return ops.Page[ops.Session]{Items: rows}
}

// Agents implements ops.Console.
func (op *Operator) Agents(_ context.Context, q ops.Query) (ops.Page[ops.Agent], error) {
	return page(op.o.Cache.Rows(), q, func(a ops.Agent) string { return a.Session }, filter.Agents)
}

// Processes implements ops.Console.
func (op *Operator) Processes(_ context.Context, q ops.Query) (ops.Page[ops.Process], error) {
	return page(op.processRows(), q, func(p ops.Process) string { return strconv.Itoa(p.PID) + "." + strconv.FormatUint(p.StartTicks, 10) }, filter.Processes)
}

// Adapters implements ops.Console.
func (op *Operator) Adapters(_ context.Context, q ops.Query) (ops.Page[ops.Adapter], error) {
	return page(op.o.Adapters.Rows(), q, func(a ops.Adapter) string { return a.Name }, filter.Adapters)
}

// Environments implements ops.Console.
func (op *Operator) Environments(_ context.Context, q ops.Query) (ops.Page[ops.Environment], error) {
	return page(op.o.Environments.Rows(), q, func(e ops.Environment) string { return e.ID }, filter.Environments)
}

// page cuts what q asks for out of rows, which are in their order already and few. The cursor is the key of the page's
// last row, so that rows which come and go move no page; if that row is gone, the answer is an error, not a silent gap.
func page[T any](rows []T, q ops.Query, key func(T) string, fields []filter.Field[T]) (ops.Page[T], error) {
	picks, err := filter.Parse(q.Filter, fields)
	if err != nil {
		return ops.Page[T]{}, err
	}
	rows = slices.DeleteFunc(rows, func(r T) bool { return !picks.Match(&r) })
	if q.Cursor != "" {
		at := slices.IndexFunc(rows, func(r T) bool { return key(r) == q.Cursor })
		if at < 0 {
			return ops.Page[T]{}, &ops.Error{Code: ops.CodeConflict, Message: "this cursor has expired", Hint: "start again without it"}
		}
		rows = rows[at+1:]
	}
	p := ops.Page[T]{Items: append([]T{}, rows...)}
	if limit := ops.PageSize(q.Limit); len(rows) > limit {
		p.Items, p.Next = rows[:limit], key(rows[limit-1])
	}
	return p, nil
}

// History implements ops.Console.
func (op *Operator) History(ctx context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	if op.store() == nil {
		return ops.Page[ops.Life]{}, errNoStore
	}
	picks, err := filter.Parse(q.Filter, filter.Lives)
	if err != nil {
		return ops.Page[ops.Life]{}, err
	}
	limit := min(ops.PageSize(q.Limit), ops.DefaultLimit)
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
