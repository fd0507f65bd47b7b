package control

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/said"
)

var testTime = ops.At(time.Date(2026, 11, 21, 12, 4, 5, 6_000_000, time.UTC))

// fake is a console that shows fixed rows, remembers what it was asked to do, and does nothing.
type fake struct {
	said.Log
	mu       sync.Mutex
	did      []ops.Command
	previews []ops.Command
	queries  []ops.Query
	events   []ops.Event
	more     chan struct{} // closed and replaced with each event
	gone     bool
	left     chan struct{} // one for each reader of events that ended

	status   func(context.Context) (ops.Status, error)
	snapshot func(context.Context) (ops.Snapshot, error)
	do       func(ops.Command) (ops.Request, error)
	request  func(context.Context, string, bool) (ops.Request, error)
}

func newFake() *fake { return &fake{more: make(chan struct{}), left: make(chan struct{}, 100)} }

// emit adds an event; its number is its place.
func (f *fake) emit(typ ops.EventType, subject, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, ops.Event{Seq: uint64(len(f.events) + 1), At: testTime, Type: typ, Subject: subject, Text: text})
	close(f.more)
	f.more = make(chan struct{})
}

// end makes every reader of events end after what there is.
func (f *fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fake) commands() []ops.Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]ops.Command(nil), f.did...)
}

func (f *fake) Status(ctx context.Context) (ops.Status, error) {
	if f.status != nil {
		return f.status(ctx)
	}
	s, err := f.Snapshot(ctx)
	return s.Status, err
}

func (f *fake) Snapshot(ctx context.Context, _ ...ops.Most) (ops.Snapshot, error) {
	if f.snapshot != nil {
		return f.snapshot(ctx)
	}
	return ops.Snapshot{
		Status: ops.Status{
			Life: "01LIFE", PID: 4121, Version: "1.2.3", State: ops.StateRunning, StartedAt: testTime, UptimeMS: 61_500,
			Home: "/srv/gw", Counts: ops.Counts{Sessions: 3, RunningTurns: 1, CachedAgents: 2, Processes: 4, QueuedMessages: 2, AdaptersConnected: 1, Adapters: 2},
			LastEnd:    &ops.LastEnd{Life: "00LIFE", Outcome: ops.OutcomeCutShort, Phase: "drain", Reason: "SIGTERM", At: testTime},
			Supervisor: ops.Supervisor{Name: "systemd", BudgetMS: 90_000, Source: "config"},
			APIListen:  "127.0.0.1:8642",
			Limits:     []ops.Limit{{Name: "limits.turns", Used: 512, Bound: 512, Waiting: 3, Reached: 3, LastReachedAt: testTime}, {Name: "limits.queued_bytes", Unit: "bytes", Bound: 64 << 20}},
		},
		Seq: 7, At: testTime,
		Sessions: []ops.Session{{Key: "api:user:alice", ID: "s1", State: ops.SessionRunning, Platform: "api", User: "alice", Doing: "model call", TurnStartedAt: testTime, LastActivityAt: testTime, Queued: 2, TokensIn: 10, TokensOut: 20, Processes: 1, Cached: true, Turn: "t1", TokensCached: 4, ContextUsed: 3000, ContextWindow: 8192, Agent: "coder", Model: "m"}},
		Adapters: []ops.Adapter{{Name: "api", State: ops.AdapterConnected, Since: testTime}, {Name: "telegram", State: ops.AdapterRetrying, Attempt: 3, LastError: "dial: \x1b]52;c;x\a", NextAttemptAt: testTime, Queue: 5}},
	}, nil
}

func page[T any](f *fake, q ops.Query, rows ...T) (ops.Page[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	return ops.Page[T]{Items: rows, Next: "c2"}, nil
}

func (f *fake) Sessions(ctx context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	s, _ := f.Snapshot(ctx)
	return page(f, q, s.Sessions...)
}

func (f *fake) Agents(_ context.Context, q ops.Query) (ops.Page[ops.Agent], error) {
	return page(f, q, ops.Agent{Session: "api:user:alice", Model: "m", State: "running", Bytes: 4096, Messages: 12, IdleMS: 5, Busy: true, Children: 1, Delegates: []ops.Child{
		{ID: "2", Turn: "t1/2", Model: "m", State: "running", Doing: "model call", Messages: 3, StartedAt: testTime},
	}})
}

func (f *fake) Processes(_ context.Context, q ops.Query) (ops.Page[ops.Process], error) {
	return page(f, q, ops.Process{PID: 9, PPID: 8, StartTicks: 77, Session: "api:user:alice", Command: "sleep 60", State: "running", AgeMS: 1500, CPUPct: 0.5, RSSBytes: 1 << 20, TreeSize: 2, Policy: "session", Origin: "spawned", LastOutput: "ok"})
}

func (f *fake) Adapters(ctx context.Context, q ops.Query) (ops.Page[ops.Adapter], error) {
	return page[ops.Adapter](f, q)
}

func (f *fake) Inbox(_ context.Context, q ops.Query) (ops.Page[ops.InboxItem], error) {
	return page(f, q, ops.InboxItem{
		ID: "7K3M9Q", Kind: ops.InboxCommand, Session: "telegram:dm:4711", Turn: "t1", AskedAt: testTime, Expires: testTime, State: ops.InboxWaiting, Who: "an owner",
		Text: "the agent wants to run a command", Command: "rm -rf build", Folder: "/srv/gw/work", Environment: "local", Reasons: []string{"rm removes files"}, Options: []string{"once", "turn"},
	}, ops.InboxItem{ID: "7K3M9R", Kind: ops.InboxPairing, State: ops.InboxDenied, By: "uid 0", AnsweredAt: testTime})
}

func (f *fake) Usage(_ context.Context, q ops.UsageQuery) (ops.Page[ops.Usage], error) {
	cost := 0.0125
	return ops.Page[ops.Usage]{Items: []ops.Usage{
		{Group: "2026-11-22" + q.By, Calls: 3, TokensIn: 1200, TokensOut: 80, Cached: 1000, Cost: &cost, Currency: "EUR"},
		{Group: "2026-11-21" + q.Since, Calls: 1, TokensIn: 400, Unpriced: 400, Currency: "EUR", Estimated: true},
	}}, nil
}

func (f *fake) Budgets(context.Context) (ops.Page[ops.Budget], error) {
	spent, reserved := 8.5, 0.25
	return ops.Page[ops.Budget]{Items: []ops.Budget{{Name: "default", Currency: "EUR", Zone: "Europe/Vienna", Windows: []ops.BudgetWindow{
		{Window: "turn", Limit: 1},
		{Window: "day", Limit: 15, Spent: &spent, Reserved: &reserved, RenewsAt: testTime},
	}, Raises: []ops.BudgetRaise{{Money: 5, Until: testTime, By: "uid 0", At: testTime}}}, {Name: "free"}}}, nil
}

func (f *fake) People(_ context.Context, q ops.Query) (ops.Page[ops.Person], error) {
	return page(f, q, ops.Person{ID: "telegram:4711", Platform: "telegram", Name: "Maria", Role: ops.RoleMember, State: ops.PersonAllowed, Source: ops.FromVerb, By: "uid 0", At: testTime})
}

func (f *fake) Environments(_ context.Context, q ops.Query) (ops.Page[ops.Environment], error) {
	return page(f, q, ops.Environment{ID: "e1", Kind: ops.EnvironmentSandbox, Name: "auto", Session: "telegram:dm:4711", State: ops.EnvironmentReady, Since: testTime, Detail: "network off"})
}

func (f *fake) Servers(_ context.Context, q ops.Query) (ops.Page[ops.Server], error) {
	return page(f, q, ops.Server{Name: "files", Scope: ops.ServerOfSession, Session: "telegram:dm:4711", State: ops.ServerReady, PID: 9, Tools: 11, Since: testTime, Calls: 3, Transport: "stdio"})
}

func (f *fake) Jobs(_ context.Context, q ops.Query) (ops.Page[ops.Job], error) {
	return page(f, q, ops.Job{Name: "morning", Schedule: "0 8 * * *", Zone: "UTC", NextAt: testTime, LastAt: testTime, LastResult: ops.JobRunFailed, LastError: "no model", State: ops.JobFailed, Agent: "default", Deliver: "telegram:dm:4711", Origin: "config", Session: "job:morning"})
}

func (f *fake) Held(_ context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return page(f, q, ops.Held{Kind: ops.HeldHook, ID: "h1", Owner: "hook", State: ops.HeldReady, Since: testTime, Detail: "job.ended to notify-send"})
}

func (f *fake) Browsers(_ context.Context, q ops.Query) (ops.Page[ops.Held], error) {
	return page(f, q, ops.Held{Kind: ops.HeldBrowser, ID: "b1", Session: "telegram:dm:4711", Owner: "browser", State: ops.HeldReady, Since: testTime})
}

func (f *fake) Notes(_ context.Context, q ops.Query) (ops.Page[ops.Note], error) {
	return page(f, q, ops.Note{ID: "n1", Scope: "person", Owner: "telegram:4711", Text: "likes tea", By: "telegram:dm:4711", At: testTime})
}

func (f *fake) Rules(_ context.Context, q ops.Query) (ops.Page[ops.Rule], error) {
	return page(f, q, ops.Rule{ID: "9F2C", Agent: "default", Environment: "local", Executable: "git", Subcommand: "push", Folder: "/srv/gw/work", By: "uid 0", MadeAt: testTime, Expires: testTime})
}

func (f *fake) Logs(_ context.Context, q ops.LogQuery) (ops.Page[ops.LogLine], error) {
	return ops.Page[ops.LogLine]{
		Items: []ops.LogLine{{ID: "7-40", At: testTime, Level: "warn", Text: "turn stalled", Fields: []ops.LogField{{Key: "session", Value: q.About}}}},
		Next:  fmt.Sprintf("%s %d %s %s", q.Level, q.Limit, q.After, q.Cursor),
	}, nil
}

func (f *fake) Rates(_ context.Context, span time.Duration) (ops.Rates, error) {
	cost := 0.01
	return ops.Rates{
		At: testTime, SpanMS: span.Milliseconds(), StepMS: 360_000, TurnP50MS: 2100, TurnP95MS: 9000, FirstTokenP50MS: 800, FirstTokenP95MS: 3400,
		Steps:  []ops.RateStep{{Turns: 2, TokensIn: 1200, TokensOut: 80, Cost: 0.01, FirstTokenMS: 800, Running: 1, Queued: 2, RSSBytes: 34 << 20, ToolsBytes: 1 << 20, Processes: 3}},
		Lately: []ops.TurnEnded{{Session: "api:user:alice", Turn: "t1", Agent: "default", EndedAt: testTime, ElapsedMS: 2100, State: "done", Tokens: 1280, Cost: &cost}, {Session: "api:user:bob", Turn: "t0", State: "interrupted", EndedAt: testTime}},
	}, nil
}

func (f *fake) Plan(_ context.Context, assume ...string) (ops.Plan, error) {
	return ops.Plan{If: assume, Phases: []ops.PlanPhase{{Name: "mark", BudgetMS: 500, Critical: true, Bound: "fixed"}}, WorstCaseMS: 88_000, DrainMS: 60_000, SupervisorBudgetMS: 90_000, Fits: true}, nil
}

func (f *fake) Shutdown(context.Context) (ops.Shutdown, error) {
	return ops.Shutdown{
		ID: "x1", Life: "01LIFE", Mode: ops.ModeGraceful, Reason: "deploy", By: "uid 0", StartedAt: testTime, DeadlineAt: testTime, Outcome: ops.ShutdownRunning,
		Phases: []ops.Phase{
			{Name: "mark", State: ops.StepDone, StartedAt: testTime, ElapsedMS: 3, BudgetMS: 500},
			{Name: "drain", State: ops.StepRunning, StartedAt: testTime, ElapsedMS: 900, BudgetMS: 60_000, Items: []ops.Item{{Kind: "turn", ID: "api:user:alice", State: ops.StepRunning, ElapsedMS: 900, BudgetMS: 60_000, Detail: "model call"}}},
		},
	}, nil
}

func (f *fake) History(_ context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	return page(f, q,
		ops.Life{Life: "01LIFE", PID: 4121, StartedAt: testTime, LastSeenAt: testTime, Outcome: ops.OutcomeRunning},
		ops.Life{
			Life: "00LIFE", PID: 4000, Version: "v1", StartedAt: testTime, LastSeenAt: testTime, Outcome: ops.OutcomeCutShort, Phase: "drain", Reason: "deploy", By: "uid 0",
			Shutdown: &ops.Shutdown{
				ID: "x0", Life: "00LIFE", Mode: ops.ModeFast, Reason: "deploy", By: "uid 0", StartedAt: testTime, ElapsedMS: 903, Outcome: ops.ShutdownRunning,
				Phases: []ops.Phase{{Name: "mark", State: ops.StepDone}, {Name: "drain", State: ops.StepRunning, StartedAt: testTime, ElapsedMS: 900, BudgetMS: 60_000}},
			},
		})
}

func (f *fake) Events(ctx context.Context, after uint64, _ ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		defer func() { f.left <- struct{}{} }()
		for {
			f.mu.Lock()
			var pending []ops.Event
			if after < uint64(len(f.events)) {
				pending = f.events[after:]
			}
			more, gone := f.more, f.gone
			f.mu.Unlock()
			for _, ev := range pending {
				if ctx.Err() != nil || !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			if len(pending) > 0 {
				continue
			}
			if gone {
				return
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
	f.mu.Lock()
	defer f.mu.Unlock()
	f.previews = append(f.previews, cmd)
	return ops.Preview{Verb: cmd.Verb, Target: cmd.Target, EndsWork: true, Interrupt: []string{"turn t1"}}, nil
}

func (f *fake) Do(_ context.Context, cmd ops.Command) (ops.Request, error) {
	f.mu.Lock()
	f.did = append(f.did, cmd)
	f.mu.Unlock()
	if f.do != nil {
		return f.do(cmd)
	}
	return ops.Request{ID: "r1", State: ops.RequestAccepted, Verb: cmd.Verb, Target: cmd.Target, By: "uid", At: testTime}, nil
}

func (f *fake) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	if f.request != nil {
		return f.request(ctx, id, wait)
	}
	if id != "r1" {
		return ops.Request{}, &ops.Error{Code: ops.CodeNotFound, Message: "no such request", Hint: "ids are printed by the verb"}
	}
	return ops.Request{ID: id, State: ops.RequestDone, Verb: ops.VerbReset, At: testTime, Result: json.RawMessage(`{"path":"/x"}`)}, nil
}
