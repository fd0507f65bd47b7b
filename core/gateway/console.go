package gateway

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

var _ ops.Console = (*Gateway)(nil)

// Status implements ops.Console. It reads counters alone: nothing that can hang is asked (H4).
func (g *Gateway) Status(context.Context) (ops.Status, error) {
	now := time.Now()
	g.mu.Lock()
	st := ops.Status{
		Life: g.life, PID: g.opts.PID, Version: g.opts.Version, State: g.state, StartedAt: ops.At(g.started), UptimeMS: ops.Millis(now.Sub(g.started)),
		Home: g.opts.Home, LastEnd: g.lastEnd, Supervisor: g.supervisor(), APIListen: g.opts.APIListen(), Warnings: slices.Clone(g.warnings),
	}
	if g.drain != nil {
		d := *g.drain
		st.Drain = &d
	}
	if g.storeTrouble.Code != "" {
		st.Warnings = append(st.Warnings, g.storeTrouble)
	}
	st.Warnings = append(st.Warnings, g.scarce...)
	g.mu.Unlock()
	if st.Warnings == nil {
		st.Warnings = []ops.Warning{}
	}
	if err := g.procs.JournalError(); err != nil {
		st.Warnings = append(st.Warnings, ops.Warning{Code: "process.journal", Message: "process trees are not recorded: " + term.Clean(err.Error(), 300)})
	}
	level, why := g.procs.Containment()
	st.Containment = ops.Containment{Level: string(level), Why: term.Clean(why, 300)}
	st.Containment.Guardian, _ = g.procs.Guardian() // its reason is in the log
	st.Counts.Sessions, st.Counts.RunningTurns = g.table.Len()
	st.Counts.CachedAgents = g.cache.Len()
	st.Counts.Processes = g.procs.Count()
	st.Warnings = append(st.Warnings, g.adapters.Warnings()...)
	for _, a := range g.adapters.Rows() {
		st.Counts.Adapters++
		if a.State == ops.AdapterConnected {
			st.Counts.AdaptersConnected++
		}
		if w, ok := adapterWarning(a); ok {
			st.Warnings = append(st.Warnings, w)
		}
	}
	return st, nil
}

// adapterWarning says that an adapter does not do its work now. What an operator should mend is the supervisor's to say.
func adapterWarning(a ops.Adapter) (ops.Warning, bool) {
	text := ""
	switch a.State {
	case ops.AdapterStale:
		text = "adapter " + a.Name + " is connected but nothing arrives"
	case ops.AdapterRetrying:
		text = "adapter " + a.Name + " is not connected, attempt " + strconv.Itoa(a.Attempt) + ": " + a.LastError
	}
	return ops.Warning{Code: "adapter." + string(a.State), Message: text, Since: a.Since}, text != ""
}

// Snapshot implements ops.Console.
func (g *Gateway) Snapshot(ctx context.Context) (ops.Snapshot, error) {
	seq := g.events.newest() // first: an event that comes while the rows are read is read again, not missed
	st, err := g.Status(ctx)
	if err != nil {
		return ops.Snapshot{}, err
	}
	now := time.Now()
	processes := g.procs.Rows()
	s := ops.Snapshot{
		Status: st, Seq: seq, At: ops.At(now), Sessions: g.sessionRows(processes), Agents: g.cache.Rows(), Processes: processes,
		AdapterRow: g.adapters.Rows(), Background: g.background.rows(now),
	}
	if run := g.stopping(); run != nil {
		report := run.Report()
		s.Shutdown = &report
	}
	return s, nil
}

// sessionRows joins what the table, the cache and the registry know of each session.
func (g *Gateway) sessionRows(processes []ops.Process) []ops.Session {
	rows := g.table.Rows()
	count := map[string]int{}
	for _, p := range processes {
		count[p.Session]++
	}
	cached := map[string]bool{}
	for _, a := range g.cache.All() {
		cached[a.Session()] = true
	}
	for i := range rows {
		rows[i].Processes, rows[i].Cached = count[rows[i].Key], cached[rows[i].Key]
	}
	return rows
}

// Sessions implements ops.Console.
func (g *Gateway) Sessions(_ context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	rows := g.sessionRows(g.procs.Rows())
	return page(rows, q, func(s ops.Session) string { return s.Key },
		func(s ops.Session) []string { return []string{s.Key, s.User, string(s.State), s.Doing} })
}

// Agents implements ops.Console.
func (g *Gateway) Agents(_ context.Context, q ops.Query) (ops.Page[ops.Agent], error) {
	return page(g.cache.Rows(), q, func(a ops.Agent) string { return a.Session },
		func(a ops.Agent) []string { return []string{a.Session, a.Model, string(a.State)} })
}

// Processes implements ops.Console.
func (g *Gateway) Processes(_ context.Context, q ops.Query) (ops.Page[ops.Process], error) {
	return page(g.procs.Rows(), q, func(p ops.Process) string { return strconv.Itoa(p.PID) + "." + strconv.FormatUint(p.StartTicks, 10) },
		func(p ops.Process) []string {
			return []string{p.Session, p.Command, string(p.State), strconv.Itoa(p.PID)}
		})
}

// Adapters implements ops.Console.
func (g *Gateway) Adapters(_ context.Context, q ops.Query) (ops.Page[ops.Adapter], error) {
	return page(g.adapters.Rows(), q, func(a ops.Adapter) string { return a.Name },
		func(a ops.Adapter) []string { return []string{a.Name, string(a.State), a.LastError} })
}

// page cuts what q asks for out of rows, which are in their order already. The cursor is the key of the page's last row,
// so that rows which come and go move no page; if that row is gone, the answer is an error, not a silent gap.
func page[T any](rows []T, q ops.Query, key func(T) string, texts func(T) []string) (ops.Page[T], error) {
	limit := q.Limit
	switch {
	case limit <= 0:
		limit = ops.DefaultLimit
	case limit > ops.MaxLimit:
		limit = ops.MaxLimit
	}
	if q.Filter != "" {
		want := strings.ToLower(q.Filter)
		rows = slices.DeleteFunc(rows, func(r T) bool {
			return !slices.ContainsFunc(texts(r), func(s string) bool { return strings.Contains(strings.ToLower(s), want) })
		})
	}
	if q.Cursor != "" {
		at := slices.IndexFunc(rows, func(r T) bool { return key(r) == q.Cursor })
		if at < 0 {
			return ops.Page[T]{}, &ops.Error{Code: ops.CodeConflict, Message: "the row that the cursor names is gone", Hint: "begin again without a cursor"}
		}
		rows = rows[at+1:]
	}
	p := ops.Page[T]{Items: rows}
	if len(rows) > limit {
		p.Items, p.Next = rows[:limit], key(rows[limit-1])
	}
	if p.Items == nil {
		p.Items = []T{}
	}
	return p, nil
}

// Plan implements ops.Console: the plan of a graceful stop as it would run now.
func (g *Gateway) Plan(context.Context) (ops.Plan, error) {
	return g.plan().Rows(g.limit()), nil
}

// Shutdown implements ops.Console.
func (g *Gateway) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	if run := g.stopping(); run != nil {
		return run.Report(), nil
	}
	none := &ops.Error{Code: ops.CodeNotFound, Message: "no shutdown has been recorded on this home", Hint: "`gatewaytui plan` shows the one that would run"}
	if !g.opened() {
		return ops.Shutdown{}, none
	}
	s, found, err := g.store.LastShutdown(ctx)
	switch {
	case err != nil:
		return ops.Shutdown{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the last shutdown could not be read: " + err.Error()}
	case !found:
		return ops.Shutdown{}, none
	}
	return s, nil
}

// History implements ops.Console.
func (g *Gateway) History(ctx context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	if !g.opened() {
		return ops.Page[ops.Life]{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the store is not open yet", Hint: "try again in a moment"}
	}
	limit := q.Limit
	if limit <= 0 || limit > ops.DefaultLimit {
		limit = ops.DefaultLimit
	}
	p := ops.Page[ops.Life]{Items: make([]ops.Life, 0, limit), Next: q.Cursor}
	if own := g.lifeRow(); g.unrecorded && q.Cursor == "" && lifeHas(own, strings.ToLower(q.Filter)) {
		p.Items = append(p.Items, g.pastLife(ctx, own)) // it is not in the store
		limit = max(limit, 2)
	}
	for {
		// Never more than there is room for: the cursor stands behind what was read, and nothing that was read is left out.
		lives, next, err := g.store.Lives(ctx, limit-len(p.Items), p.Next)
		if err != nil {
			if ops.HasCode(err, ops.CodeInvalid) {
				return ops.Page[ops.Life]{}, err
			}
			return ops.Page[ops.Life]{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the past lives could not be read: " + err.Error()}
		}
		for _, l := range lives {
			if lifeHas(l, strings.ToLower(q.Filter)) {
				p.Items = append(p.Items, g.pastLife(ctx, l))
			}
		}
		if p.Next = next; next == "" || len(p.Items) == limit {
			return p, nil
		}
	}
}

// lifeHas reports whether want, in lower case, is in one of the life's texts.
func lifeHas(l store.Life, want string) bool {
	return slices.ContainsFunc([]string{l.ID, l.Version, string(l.Outcome), l.Phase, l.Reason, l.By}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), want)
	})
}

// pastLife is a life with the report of its stop, as far as that can be read.
func (g *Gateway) pastLife(ctx context.Context, l store.Life) ops.Life {
	row := ops.Life{
		Life: l.ID, PID: l.PID, Version: l.Version, StartedAt: ops.At(l.StartedAt), EndedAt: ops.At(l.EndedAt), LastSeenAt: ops.At(l.HeartbeatAt), RSSBytes: l.RSS,
		Outcome: l.Outcome, Phase: l.Phase, Reason: l.Reason, By: l.By,
	}
	if s, found, err := g.store.ShutdownOf(ctx, l.ID); err == nil && found {
		row.Shutdown = &s
		if at := s.LastWord(); at.After(row.LastSeenAt.Time) {
			row.LastSeenAt = at
		}
	}
	return row
}

// Events implements ops.Console.
func (g *Gateway) Events(ctx context.Context, after uint64) iter.Seq2[ops.Event, error] {
	return g.events.follow(ctx, after, g.over)
}

// Request implements ops.Console.
func (g *Gateway) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	return g.requests.get(ctx, id, wait)
}
