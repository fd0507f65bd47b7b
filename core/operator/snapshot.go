package operator

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strconv"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// Status implements ops.Console. It reads counters alone: nothing that can hang is asked (H4).
func (op *Operator) Status(context.Context) (ops.Status, error) {
	now := time.Now()
	listens := op.o.Host.APIListen() // it takes locks of its own
	config, _ := op.o.Health.ConfigFile()
	state, drain := op.o.Lifecycle.Now()
	st := ops.Status{
		Life: op.o.Identity.Life, PID: op.o.Identity.PID, Version: op.o.Identity.Version, State: state, Drain: drain, StartedAt: ops.At(op.o.Health.Started()), UptimeMS: ops.Millis(now.Sub(op.o.Health.Started())),
		Home: op.o.Home, LastEnd: op.o.Recovery.LastEnd(), Supervisor: op.o.Supervisor, APIListen: listens, APIAccess: op.o.APIAccess, Config: config,
	}
	st.Warnings = op.o.Health.Warnings(now)
	addr, trouble := op.o.Host.MetricsListen()
	if st.MetricsListen = addr; trouble.Code != "" {
		st.Warnings = append(st.Warnings, trouble)
	}
	if text, since := op.o.Host.LogTrouble(); text != "" {
		st.Warnings = append(st.Warnings, ops.Warning{Code: warnLog, Message: "lines of the log are lost: " + term.Clean(text, 300), Since: ops.At(since)})
	}
	st.Demo = op.o.Host.Demo()
	if err := op.o.Processes.JournalError(); err != nil {
		st.Warnings = append(st.Warnings, ops.Warning{Code: "process.journal", Message: "process trees are not recorded: " + term.Clean(err.Error(), 300)})
	}
	for _, w := range op.o.Processes.Weaknesses() {
		w.Message = term.Clean(w.Message, 300)
		st.Warnings = append(st.Warnings, w)
	}
	level, why := op.o.Processes.Containment()
	st.Containment = ops.Containment{Level: string(level), Why: term.Clean(why, 300)}
	_, st.Containment.Controllers, why = op.o.Processes.Limits()
	st.Containment.Unlimited = term.Clean(why, 300)
	_, st.Containment.SessionLimits = op.o.Processes.SessionLimits()
	st.Containment.Guardian, _ = op.o.Processes.Guardian() // its reason is in the warnings
	counts := op.o.Table.Counts()
	st.Counts.Sessions, st.Counts.RunningTurns, st.Counts.QueuedMessages = counts.Sessions, counts.Turns, counts.Queued
	st.Counts.CachedAgents = op.o.Cache.Len()
	st.Counts.Inbox = op.inboxCount()
	st.Counts.Processes = op.o.Processes.Count()
	op.countHeld(&st.Counts)
	st.Limits = op.o.Limits.Rows()
	st.Budgets = op.o.Budget.Today()
	st.Warnings = append(st.Warnings, op.o.Limits.Warnings(now)...)
	st.Warnings = append(st.Warnings, op.o.Adapters.Warnings()...)
	for _, a := range op.o.Adapters.Rows() {
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

// warnLog is the code of the warning that lines cannot be written to the log file (HF28).
const warnLog = "log.file"

// adapterWarning says that an adapter does not do its work now. The supervisor warns of what an operator should fix.
func adapterWarning(a ops.Adapter) (ops.Warning, bool) {
	text := ""
	switch a.State {
	case ops.AdapterStale:
		text = "adapter " + a.Name + " is connected but nothing arrives"
	case ops.AdapterRetrying:
		// The cause first: a narrow screen cuts the end.
		text = "adapter " + a.Name + ": " + cmp.Or(a.LastError, "not connected") + "; attempt " + strconv.Itoa(a.Attempt)
	}
	return ops.Warning{Code: "adapter." + string(a.State), Message: text, Since: a.Since}, text != ""
}

// Snapshot implements ops.Console.
func (op *Operator) Snapshot(ctx context.Context, most ...ops.Most) (ops.Snapshot, error) {
	seq := op.o.Events.Newest() // first: an event that comes while the rows are read is read again, not missed
	st, err := op.Status(ctx)
	if err != nil {
		return ops.Snapshot{}, err
	}
	now := time.Now()
	s := ops.Snapshot{
		Status: st, Seq: seq, At: ops.At(now), Sessions: []ops.Session{}, Agents: []ops.Agent{}, Processes: []ops.Process{},
		Adapters: op.o.Adapters.Rows(), Background: append(op.o.Background.Rows(now), op.o.Search.Rows(now)...),
		Inbox: op.inboxRows(),
	}
	rows := map[ops.Table]int{ops.TableSessions: ops.SnapshotSessions, ops.TableAgents: math.MaxInt, ops.TableProcesses: math.MaxInt, ops.TableHeld: ops.SnapshotHeld}
	for _, m := range most {
		rows[m.Table] = max(min(m.Rows, rows[m.Table]), 0)
	}
	var next session.Cursor
	if n := rows[ops.TableSessions]; n > 0 {
		s.Sessions, next, _ = op.sessionRows(session.Selection{Limit: n})
	}
	if n := rows[ops.TableAgents]; n > 0 {
		s.Agents = op.o.Cache.Rows()
		s.Agents = s.Agents[:min(n, len(s.Agents))]
	}
	if n := rows[ops.TableProcesses]; n > 0 {
		s.Processes = op.processRows()
		s.Processes = s.Processes[:min(n, len(s.Processes))]
	}
	asked := len(s.Inbox)
	s.Inbox = s.Inbox[:min(asked, ops.SnapshotInbox)]
	left := ops.Omitted{
		Inbox: asked - len(s.Inbox), Sessions: max(st.Counts.Sessions-len(s.Sessions), 0), Agents: max(st.Counts.CachedAgents-len(s.Agents), 0), Processes: max(st.Counts.Processes-len(s.Processes), 0),
		Next: next.String(),
	}
	if n := rows[ops.TableHeld]; n > 0 {
		s.Servers, left.Servers = firstOf(op.serverRows(), n)
		s.Jobs, left.Jobs = firstOf(op.jobRows(), n)
		s.Held, left.Held = firstOf(op.heldRows(), n)
	}
	if left != (ops.Omitted{}) {
		s.Omitted = &left
	}
	if run := op.o.Lifecycle.Run(); run != nil {
		report := run.Report()
		s.Shutdown = &report
	}
	return s, nil
}

// firstOf is the first n rows, and how many more there are.
func firstOf[T any](rows []T, n int) (first []T, left int) {
	n = min(len(rows), n)
	return rows[:n], len(rows) - n
}

// Shutdown implements ops.Console.
func (op *Operator) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	if run := op.o.Lifecycle.Run(); run != nil {
		return run.Report(), nil
	}
	none := &ops.Error{Code: ops.CodeNotFound, Message: "no shutdown has been recorded on this home", Hint: "`gatewaytui plan` shows the one that would run"}
	if op.store() == nil {
		return ops.Shutdown{}, none
	}
	s, found, err := op.store().LastShutdown(ctx)
	switch {
	case err != nil:
		return ops.Shutdown{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the last shutdown could not be read: " + err.Error()}
	case !found:
		return ops.Shutdown{}, none
	}
	return s, nil
}

// Events implements ops.Console.
func (op *Operator) Events(ctx context.Context, after uint64, kinds ...ops.EventType) iter.Seq2[ops.Event, error] {
	return op.o.Events.Follow(ctx, after, kinds...)
}

// Request implements ops.Console.
func (op *Operator) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	row, err := op.requests.get(ctx, id, wait)
	if row.State == ops.RequestWaiting {
		row.WaitingFor = op.waitingFor(op.requests.askedBy(id))
	}
	return row, err
}
