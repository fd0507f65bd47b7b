package gateway

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/core/recovery"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

var _ ops.Console = (*Gateway)(nil)

// Status implements ops.Console. It reads counters alone: nothing that can hang is asked (H4).
func (g *Gateway) Status(context.Context) (ops.Status, error) {
	now := time.Now()
	listens := g.opts.APIListen() // it takes locks of its own
	config, _ := g.health.ConfigFile()
	state, drain := g.lifecycle.Now()
	st := ops.Status{
		Life: g.life, PID: g.opts.PID, Version: g.opts.Version, State: state, Drain: drain, StartedAt: ops.At(g.health.Started()), UptimeMS: ops.Millis(now.Sub(g.health.Started())),
		Home: g.opts.Home, LastEnd: g.recovery.LastEnd(), Supervisor: g.supervisor(), APIListen: listens, APIAccess: g.opts.APIAccess, Config: config,
	}
	st.Warnings = g.health.Warnings(now)
	if g.opts.MetricsListen != nil {
		addr, trouble := g.opts.MetricsListen()
		if st.MetricsListen = addr; trouble.Code != "" {
			st.Warnings = append(st.Warnings, trouble)
		}
	}
	if g.opts.LogTrouble != nil {
		if text, since := g.opts.LogTrouble(); text != "" {
			st.Warnings = append(st.Warnings, ops.Warning{Code: WarnLog, Message: "lines of the log are lost: " + term.Clean(text, 300), Since: ops.At(since)})
		}
	}
	if g.opts.Demo != nil {
		st.Demo = g.opts.Demo()
	}
	if err := g.procs.JournalError(); err != nil {
		st.Warnings = append(st.Warnings, ops.Warning{Code: "process.journal", Message: "process trees are not recorded: " + term.Clean(err.Error(), 300)})
	}
	for _, w := range g.procs.Weaknesses() {
		st.Warnings = append(st.Warnings, ops.Warning{Code: w.Code, Message: term.Clean(w.Text, 300), Since: ops.At(w.Since)})
	}
	level, why := g.procs.Containment()
	st.Containment = ops.Containment{Level: string(level), Why: term.Clean(why, 300)}
	_, st.Containment.Controllers, why = g.procs.Limits()
	st.Containment.Unlimited = term.Clean(why, 300)
	st.Containment.Guardian, _ = g.procs.Guardian() // its reason is in the warnings
	st.Counts.Sessions, st.Counts.RunningTurns = g.table.Len()
	st.Counts.QueuedMessages = g.table.Queued()
	st.Counts.CachedAgents = g.cache.Len()
	st.Counts.Processes = g.procs.Count()
	st.Limits = g.limits.Rows()
	st.Warnings = append(st.Warnings, g.limits.Warnings(now)...)
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

// WarnLog is the code of the warning that lines cannot be written to the log file (HF28).
const WarnLog = "log.file"

// adapterWarning says that an adapter does not do its work now. What an operator should mend is the supervisor's to say.
func adapterWarning(a ops.Adapter) (ops.Warning, bool) {
	text := ""
	switch a.State {
	case ops.AdapterStale:
		text = "adapter " + a.Name + " is connected but nothing arrives"
	case ops.AdapterRetrying:
		// The cause first: a narrow screen cuts the end.
		cause := a.LastError
		if cause == "" {
			cause = "not connected"
		}
		text = "adapter " + a.Name + ": " + cause + "; attempt " + strconv.Itoa(a.Attempt)
	}
	return ops.Warning{Code: "adapter." + string(a.State), Message: text, Since: a.Since}, text != ""
}

// Snapshot implements ops.Console.
func (g *Gateway) Snapshot(ctx context.Context, most ...ops.Most) (ops.Snapshot, error) {
	seq := g.events.Newest() // first: an event that comes while the rows are read is read again, not missed
	st, err := g.Status(ctx)
	if err != nil {
		return ops.Snapshot{}, err
	}
	now := time.Now()
	s := ops.Snapshot{
		Status: st, Seq: seq, At: ops.At(now), Sessions: []ops.Session{}, Agents: []ops.Agent{}, Processes: []ops.Process{},
		AdapterRow: g.adapters.Rows(), Background: g.background.Rows(now),
	}
	rows := map[ops.Table]int{ops.TableSessions: ops.SnapshotSessions, ops.TableAgents: math.MaxInt, ops.TableProcesses: math.MaxInt}
	for _, m := range most {
		rows[m.Table] = max(min(m.Rows, rows[m.Table]), 0)
	}
	var next session.Cursor
	if n := rows[ops.TableSessions]; n > 0 {
		s.Sessions, next, _ = g.sessionRows(session.Selection{Limit: n})
	}
	if n := rows[ops.TableAgents]; n > 0 {
		s.Agents = g.cache.Rows()
		s.Agents = s.Agents[:min(n, len(s.Agents))]
	}
	if n := rows[ops.TableProcesses]; n > 0 {
		s.Processes = g.procs.Rows()
		s.Processes = s.Processes[:min(n, len(s.Processes))]
	}
	left := ops.Omitted{
		Sessions: max(st.Counts.Sessions-len(s.Sessions), 0), Agents: max(st.Counts.CachedAgents-len(s.Agents), 0), Processes: max(st.Counts.Processes-len(s.Processes), 0),
		Next: next.String(),
	}
	if left != (ops.Omitted{}) {
		s.Omitted = &left
	}
	if run := g.lifecycle.Run(); run != nil {
		report := run.Report()
		s.Shutdown = &report
	}
	return s, nil
}

// sessionRows joins the table's rows of a selection with what the cache and the registry know of each.
func (g *Gateway) sessionRows(sel session.Selection) (rows []ops.Session, next session.Cursor, scanned int) {
	rows, next, scanned = g.table.Page(sel)
	count := g.procs.CountSessions()
	for i := range rows {
		_, cached := g.cache.Peek(rows[i].Key)
		rows[i].Processes, rows[i].Cached = count[rows[i].Key], cached
	}
	return rows, next, scanned
}

// Sessions implements ops.Console. A page costs the same at any number of sessions; a filter looks at MaxScan of them at
// most, and at none of a group that has no row with a state that it asks for.
func (g *Gateway) Sessions(_ context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	if q.Key != "" {
		return g.oneSession(q.Key), nil
	}
	picks, err := filter.Parse(q.Filter, filter.Sessions)
	if err != nil {
		return ops.Page[ops.Session]{}, err
	}
	sel := session.Selection{Limit: bounded(q.Limit), Scan: ops.MaxScan}
	if sel.After, err = session.ParseCursor(q.Cursor); err != nil {
		return ops.Page[ops.Session]{}, err
	}
	if !picks.All() {
		sel.Match = picks.Match
		sel.Groups = func(group ops.SessionGroup) bool {
			return slices.ContainsFunc(ops.SessionStates, func(s ops.SessionState) bool {
				return s.Group() == group && picks.Could("state", string(s))
			})
		}
	}
	rows, next, scanned := g.sessionRows(sel)
	p := ops.Page[ops.Session]{Items: filled(rows), Next: next.String()}
	if p.Next != "" && len(rows) < sel.Limit {
		p.Scanned = scanned
	}
	return p, nil
}

// oneSession is the page with the session of key, empty if there is none.
func (g *Gateway) oneSession(key string) ops.Page[ops.Session] {
	row, found := g.table.Row(key)
	if !found {
		return ops.Page[ops.Session]{Items: []ops.Session{}}
	}
	_, row.Cached = g.cache.Peek(key)
	row.Processes = g.procs.CountSession(key)
	return ops.Page[ops.Session]{Items: []ops.Session{row}}
}

// Agents implements ops.Console.
func (g *Gateway) Agents(_ context.Context, q ops.Query) (ops.Page[ops.Agent], error) {
	return page(g.cache.Rows(), q, func(a ops.Agent) string { return a.Session }, filter.Agents)
}

// Processes implements ops.Console.
func (g *Gateway) Processes(_ context.Context, q ops.Query) (ops.Page[ops.Process], error) {
	return page(g.procs.Rows(), q, func(p ops.Process) string { return strconv.Itoa(p.PID) + "." + strconv.FormatUint(p.StartTicks, 10) }, filter.Processes)
}

// Adapters implements ops.Console.
func (g *Gateway) Adapters(_ context.Context, q ops.Query) (ops.Page[ops.Adapter], error) {
	return page(g.adapters.Rows(), q, func(a ops.Adapter) string { return a.Name }, filter.Adapters)
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
	p := ops.Page[T]{Items: filled(rows)}
	if limit := bounded(q.Limit); len(rows) > limit {
		p.Items, p.Next = rows[:limit], key(rows[limit-1])
	}
	return p, nil
}

// bounded is a query's limit within its bounds.
func bounded(limit int) int {
	if limit <= 0 {
		return ops.DefaultLimit
	}
	return min(limit, ops.MaxLimit)
}

// filled is rows, never nil: it is an empty list on the wire.
func filled[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

// Plan implements ops.Console: the plan of a graceful stop as it would run now.
func (g *Gateway) Plan(context.Context) (ops.Plan, error) {
	return g.phases.plan().Rows(g.phases.limit()), nil
}

// Shutdown implements ops.Console.
func (g *Gateway) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	if run := g.lifecycle.Run(); run != nil {
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
	picks, err := filter.Parse(q.Filter, filter.Lives)
	if err != nil {
		return ops.Page[ops.Life]{}, err
	}
	limit := min(bounded(q.Limit), ops.DefaultLimit)
	p := ops.Page[ops.Life]{Items: make([]ops.Life, 0, limit), Next: q.Cursor}
	add := func(l store.Life) {
		if row := g.pastLife(ctx, l); picks.Match(&row) {
			p.Items = append(p.Items, row)
		}
	}
	if g.recovery.Unrecorded() && q.Cursor == "" {
		add(g.recovery.Row()) // it is not in the store
		limit = max(limit, 1+len(p.Items))
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
			add(l)
		}
		if p.Next = next; next == "" || len(p.Items) == limit {
			return p, nil
		}
	}
}

// pastLife is a life with the report of its stop, as far as that can be read.
func (g *Gateway) pastLife(ctx context.Context, l store.Life) ops.Life {
	row := recovery.LifeRow(l)
	if s, found, err := g.store.ShutdownOf(ctx, l.ID); err == nil && found {
		row.Shutdown = &s
		if at := s.LastWord(); at.After(row.LastSeenAt.Time) {
			row.LastSeenAt = at
		}
	}
	return row
}

// Events implements ops.Console.
func (g *Gateway) Events(ctx context.Context, after uint64, kinds ...ops.EventType) iter.Seq2[ops.Event, error] {
	return g.events.Follow(ctx, after, kinds...)
}

// Request implements ops.Console.
func (g *Gateway) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	return g.requests.get(ctx, id, wait)
}
