package main

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/said"
)

const fakeLife = "01LIFE"

// anHourAgo has whole milliseconds, as the wire does.
var anHourAgo = ops.At(time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond))

// fake is a gateway that shows fixed rows, some of them hostile, and remembers what it was asked to do.
type fake struct {
	said.Log
	mu     sync.Mutex
	did    []ops.Command
	asked  []ops.Query
	events []ops.Event
	more   chan struct{} // closed and replaced with each event
	sent   uint64        // the last event that a reader has been sent

	status  ops.Status
	plan    ops.Plan
	down    *ops.Shutdown
	lives   []ops.Life
	preview ops.Preview
	// do decides on a command that was accepted; nil is done with it.
	do func(ops.Command) (ops.Request, error)
	// waits holds what a long poll answers; nil answers what do did.
	wait func(context.Context) (ops.Request, error)
	last ops.Request
	// usage is what was asked of what was used.
	usage []ops.UsageQuery
	// refused is the end of a stop that waited for a person; nil: none did.
	refused *ops.Error
	// inbox is what waits for a person; nil is inboxRow.
	inbox []ops.InboxItem
}

func newFake() *fake {
	return &fake{
		more: make(chan struct{}),
		status: ops.Status{
			Life: fakeLife, PID: 4121, Version: "1.2.3", State: ops.StateRunning, StartedAt: anHourAgo, UptimeMS: 3_600_000,
			Home: "/srv/gw", Counts: ops.Counts{Sessions: 3, RunningTurns: 1, CachedAgents: 2, Processes: 4, AdaptersConnected: 1, Adapters: 2},
			LastEnd:    &ops.LastEnd{Life: "00LIFE", Outcome: ops.OutcomeCutShort, Phase: "drain", Reason: "SIGTERM" + hostile, At: anHourAgo},
			Supervisor: ops.Supervisor{Name: "systemd", BudgetMS: 90_000, Source: "config"},
			Limits:     []ops.Limit{{Name: "limits.turns", Used: 1, Bound: 512}},
			Warnings:   []ops.Warning{{Code: "store.disk", Message: "the disk is full" + hostile, Since: anHourAgo}},
			APIListen:  "127.0.0.1:8642",
		},
		plan: ops.Plan{
			Phases: []ops.PlanPhase{
				{Name: "mark", BudgetMS: 500, Critical: true, Bound: "fixed"},
				{Name: "drain", BudgetMS: 60_000, Bound: "shutdown.drain_timeout"},
			},
			WorstCaseMS: 88_000, DrainMS: 60_000, SupervisorBudgetMS: 90_000, Fits: true,
		},
		preview: ops.Preview{
			EndsWork: true, Interrupt: []string{"api:user:alice (12s, terminal: sleep 60" + hostile + ")"}, WaitsFor: []string{},
			Closes: []string{}, Kills: []string{"pid 9 sleep 60"}, Keeps: []string{"the session"}, Loses: []string{}, WorstCaseMS: 88_000,
		},
		lives: []ops.Life{
			{Life: fakeLife, PID: 4121, StartedAt: anHourAgo, Outcome: ops.OutcomeRunning},
			{Life: "00LIFE", PID: 4000, StartedAt: anHourAgo, LastSeenAt: ops.At(anHourAgo.Add(90 * time.Second)), Outcome: ops.OutcomeCutShort, Phase: "adapters", Reason: "deploy" + hostile, By: "uid 0", Shutdown: stopReport()},
			{Life: "000LIFE", PID: 3900, StartedAt: anHourAgo, LastSeenAt: anHourAgo, Outcome: ops.OutcomeCrashed},
		},
	}
}

// stopReport is a stop in which one adapter did not end in time.
func stopReport() *ops.Shutdown {
	return &ops.Shutdown{
		ID: "x1", Life: "00LIFE", Mode: ops.ModeGraceful, Reason: "deploy", By: "uid 0", StartedAt: anHourAgo, DeadlineAt: anHourAgo,
		EndedAt: anHourAgo, ElapsedMS: 5_004, Outcome: ops.ShutdownIncomplete,
		Phases: []ops.Phase{
			{Name: "mark", State: ops.StepDone, ElapsedMS: 3, BudgetMS: 500, Items: []ops.Item{}},
			{Name: "adapters", State: ops.StepTimedOut, ElapsedMS: 5_000, BudgetMS: 5_000, Detail: "1 of 1 did not end in time", Items: []ops.Item{
				{Kind: "adapter", ID: "telegram", State: ops.StepTimedOut, ElapsedMS: 5_000, BudgetMS: 5_000, Detail: "disconnect" + hostile},
			}},
		},
	}
}

// emit adds an event, with its payload as it comes over the socket; its number is its place.
func (f *fake) emit(typ ops.EventType, subject, text string, data map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ev := ops.Event{Seq: uint64(len(f.events) + 1), At: anHourAgo, Type: typ, Subject: subject, Text: text}
	if raw, err := json.Marshal(data); err == nil && data != nil {
		ev.Data = ops.Raw(raw)
	}
	f.events = append(f.events, ev)
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fake) commands() []ops.Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	did := slices.Clone(f.did)
	for i := range did {
		did[i].By = ops.Actor{} // who we are is the server's to say
	}
	return did
}

func (f *fake) queries() []ops.Query {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *fake) Status(context.Context) (ops.Status, error) { return f.status, nil }

func (f *fake) Snapshot(context.Context, ...ops.Most) (ops.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return ops.Snapshot{Status: f.status, Seq: uint64(len(f.events)), At: anHourAgo}, nil
}

var (
	sessionRow = ops.Session{
		Key: "api:user:alice" + hostile, ID: "s1", State: ops.SessionStalled, Platform: "api", User: "Alice" + hostile, Doing: "terminal: sleep 60" + hostile,
		TurnStartedAt: anHourAgo, LastActivityAt: anHourAgo, Queued: 2, TokensIn: 10, TokensOut: 20, Processes: 1, Cached: true, Turn: "t1",
	}
	plainSession = ops.Session{Key: "cli:local", ID: "s2", State: ops.SessionRunning, Turn: "t2"}
	agentRow     = ops.Agent{Session: "api:user:alice", Model: "m" + hostile, State: "running", Bytes: 4096, Messages: 12, IdleMS: 5_000, Busy: true, Children: 1}
	processRow   = ops.Process{PID: 9, PPID: 8, StartTicks: 77, Session: "api:user:alice", Command: "sleep 60" + hostile, State: "running", AgeMS: 61_500, CPUPct: 0.5, RSSBytes: 1 << 20, TreeSize: 2, Policy: "session", Origin: "spawned", LastOutput: "ok" + hostile, DuplicateOf: 4711}
	adapterRow   = ops.Adapter{Name: "telegram", State: ops.AdapterNeedsCredentials, Since: anHourAgo, Attempt: 3, LastError: "dial" + hostile, Queue: 5}
)

var (
	serverRow = ops.Server{
		Name: "files", Scope: ops.ServerOfSession, Session: "telegram:dm:4711", State: ops.ServerReady, PID: 9, Tools: 11, Since: anHourAgo, Calls: 3, Transport: "stdio",
	}
	jobRow = ops.Job{
		Name: "morning", Schedule: "0 8 * * *", Zone: "UTC", NextAt: anHourAgo, LastAt: anHourAgo, LastResult: ops.JobRunDone, State: ops.JobWaiting, Agent: "default", Origin: "config",
	}
	heldRow        = ops.Held{Kind: ops.HeldBrowser, ID: "b1", Session: "telegram:dm:4711", Owner: "browser", State: ops.HeldReady, Since: anHourAgo}
	noteRow        = ops.Note{ID: "n1", Scope: "person", Owner: "telegram:4711", Text: "likes tea", By: "telegram:dm:4711", At: anHourAgo}
	environmentRow = ops.Environment{
		ID: "e1", Kind: ops.EnvironmentSandbox, Name: "auto", Session: "cli:local", State: ops.EnvironmentReady, Since: anHourAgo, Detail: "network off" + hostile,
	}
	inboxRow = ops.InboxItem{
		ID: "7K3M9Q", Kind: ops.InboxCommand, Session: "cli:local", Turn: "t2", AskedAt: anHourAgo, Expires: anHourAgo, State: ops.InboxWaiting, Who: "an owner" + hostile,
		Text: "the agent wants to run a command", Command: "rm -rf build" + hostile, Folder: "/srv/gw/work", Environment: "local", Reasons: []string{"rm removes files" + hostile},
		Options: []string{"once", "turn", "session", "always"},
	}
	personRow = ops.Person{ID: "telegram:4711", Platform: "telegram", Name: "Maria" + hostile, Role: ops.RoleMember, State: ops.PersonAllowed, Source: ops.FromVerb, By: "uid 0", At: anHourAgo}
	ruleRow   = ops.Rule{ID: "9F2C", Agent: "default", Environment: "local", Executable: "git", Subcommand: "push" + hostile, Folder: "/srv/gw/work", By: "uid 0", MadeAt: anHourAgo, Expires: anHourAgo}
)

func (f *fake) Inbox(_ context.Context, q ops.Query) (ops.Page[ops.InboxItem], error) {
	f.mu.Lock()
	rows := []ops.InboxItem{inboxRow}
	if f.inbox != nil {
		rows = slices.Clone(f.inbox)
	}
	f.mu.Unlock()
	return page(f, q, rows...)
}

// ask puts requests into the inbox in the place of those that were there, and says so.
func (f *fake) ask(rows ...ops.InboxItem) {
	f.mu.Lock()
	f.inbox = rows
	f.mu.Unlock()
	f.emit(ops.EventApprovalAsked, "cli:local", "a request waits", nil)
}

var (
	spentToday = 8.5
	usageRow   = ops.Usage{Group: "telegram:4711" + hostile, Calls: 3, TokensIn: 12000, TokensOut: 80, Cached: 1000, Unpriced: 7, Cost: &spentToday, Currency: "EUR", Estimated: true}
	budgetRow  = ops.Budget{
		Name: "default", Currency: "EUR", Zone: "UTC",
		Windows: []ops.BudgetWindow{{Window: "turn", Limit: 1}, {Window: "session"}, {Window: "day", Limit: 10, Spent: &spentToday, Reserved: &spentToday, RenewsAt: anHourAgo}},
		Raises:  []ops.BudgetRaise{{Money: 5, Until: anHourAgo, By: "uid 0" + hostile}},
	}
)

func (f *fake) Usage(_ context.Context, q ops.UsageQuery) (ops.Page[ops.Usage], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.usage = append(f.usage, q)
	return ops.Page[ops.Usage]{Items: []ops.Usage{usageRow}}, nil
}

func (f *fake) Budgets(context.Context) (ops.Page[ops.Budget], error) {
	return ops.Page[ops.Budget]{Items: []ops.Budget{budgetRow}}, nil
}

func (f *fake) Logs(context.Context, ops.LogQuery) (ops.Page[ops.LogLine], error) {
	return ops.Page[ops.LogLine]{}, nil
}

func (f *fake) Rates(context.Context, time.Duration) (ops.Rates, error) { return ops.Rates{}, nil }

func (f *fake) People(_ context.Context, q ops.Query) (ops.Page[ops.Person], error) {
	return page(f, q, personRow)
}

func (f *fake) Environments(_ context.Context, q ops.Query) (ops.Page[ops.Environment], error) {
	return page(f, q, environmentRow)
}

func (f *fake) Servers(_ context.Context, q ops.Query) (ops.Page[ops.Server], error) {
	return page(f, q, serverRow)
}

func (f *fake) Jobs(_ context.Context, q ops.Query) (ops.Page[ops.Job], error) {
	return page(f, q, jobRow)
}

func (f *fake) Held(_ context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return page(f, q, heldRow)
}

func (f *fake) Browsers(_ context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return page(f, q, heldRow)
}

func (f *fake) Notes(_ context.Context, q ops.Query) (ops.Page[ops.Note], error) {
	return page(f, q, noteRow)
}

func (f *fake) Rules(_ context.Context, q ops.Query) (ops.Page[ops.Rule], error) {
	return page(f, q, ruleRow)
}

func page[T any](f *fake, q ops.Query, rows ...T) (ops.Page[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	return ops.Page[T]{Items: rows, Next: "c2"}, nil
}

func (f *fake) Sessions(_ context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	return page(f, q, sessionRow, plainSession)
}

func (f *fake) Agents(_ context.Context, q ops.Query) (ops.Page[ops.Agent], error) {
	return page(f, q, agentRow)
}

func (f *fake) Processes(_ context.Context, q ops.Query) (ops.Page[ops.Process], error) {
	return page(f, q, processRow)
}

func (f *fake) Adapters(_ context.Context, q ops.Query) (ops.Page[ops.Adapter], error) {
	return page(f, q, adapterRow)
}

func (f *fake) History(_ context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	return page(f, q, f.lives...)
}

func (f *fake) Plan(context.Context, ...string) (ops.Plan, error) { return f.plan, nil }

func (f *fake) Shutdown(context.Context) (ops.Shutdown, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down == nil {
		return ops.Shutdown{}, &ops.Error{Code: ops.CodeNotFound, Message: "no shutdown has been recorded"}
	}
	return *f.down, nil
}

func (f *fake) Events(ctx context.Context, after uint64, _ ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		for {
			f.mu.Lock()
			pending, more := f.events[min(after, uint64(len(f.events))):], f.more
			f.mu.Unlock()
			for _, ev := range pending {
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
				f.mu.Lock()
				f.sent = after
				f.mu.Unlock()
			}
			if len(pending) > 0 {
				continue
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fake) Preview(_ context.Context, cmd ops.Command) (ops.Preview, error) {
	p := f.preview
	p.Verb, p.Target = cmd.Verb, cmd.Target
	return p, nil
}

func (f *fake) Do(_ context.Context, cmd ops.Command) (ops.Request, error) {
	f.mu.Lock()
	f.did = append(f.did, cmd)
	asked := f.inbox != nil
	f.mu.Unlock()
	req := ops.Request{ID: "r1", State: ops.RequestDone, Verb: cmd.Verb, Target: cmd.Target, At: anHourAgo, Detail: "it is done" + hostile}
	if f.do != nil {
		var err error
		if req, err = f.do(cmd); err != nil {
			return ops.Request{}, err
		}
		req.ID, req.Verb, req.Target, req.At = "r1", cmd.Verb, cmd.Target, anHourAgo
	}
	if spec, _ := cmd.Verb.Spec(); asked && spec.Target == ops.TargetInbox {
		req.ID, req.State = "answer", ops.RequestDone
		return req, nil
	}
	f.mu.Lock()
	f.last = req
	f.mu.Unlock()
	accepted := req
	if req.State == ops.RequestWaiting {
		return req, nil
	}
	accepted.State, accepted.Detail, accepted.Result, accepted.Error = ops.RequestAccepted, "", nil, nil
	return accepted, nil
}

func (f *fake) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	if f.refused != nil {
		return ops.Request{ID: id, State: ops.RequestFailed, At: anHourAgo, Error: f.refused}, nil
	}
	if id == "answer" {
		return ops.Request{ID: id, State: ops.RequestDone, At: anHourAgo}, nil
	}
	if f.wait != nil {
		if !wait {
			return ops.Request{ID: "r1", State: ops.RequestRunning, Turn: "t2", At: anHourAgo}, nil
		}
		return f.wait(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, nil
}

// with is a request's end with a result of the verb's own.
func with(result any) func(ops.Command) (ops.Request, error) {
	return func(ops.Command) (ops.Request, error) {
		raw, err := json.Marshal(result)
		return ops.Request{State: ops.RequestDone, Detail: "ended 1 process", Result: raw}, err
	}
}

// failing is a request that ends with e.
func failing(e *ops.Error, result any) func(ops.Command) (ops.Request, error) {
	return func(ops.Command) (ops.Request, error) {
		raw, err := json.Marshal(result)
		return ops.Request{State: ops.RequestFailed, Result: raw, Error: e}, err
	}
}
