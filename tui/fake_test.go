package tui

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/said"
)

// gateway is an ops.Console that plays one: it answers with what the test put there and records what it was asked.
type gateway struct {
	crowd     []ops.Session // more sessions than a snapshot has
	mu        sync.Mutex
	snap      ops.Snapshot
	stop      *ops.Shutdown
	err       error // of every look
	preview   ops.Preview
	previewE  error
	doE       error
	request   ops.Request
	given     []ops.Command
	looks     int // snapshots that were asked for
	lives     []ops.Life
	historyE  error
	asked     []ops.Query // of past lives
	said      said.Log
	hits      []ops.Hit             // of every search but one for "nothing"
	turns     map[string][]ops.Turn // by session
	timelines map[string]ops.Timeline
	log       []ops.LogLine
	logged    []ops.LogQuery
	used      int64 // how often what was used was asked for
	usedE     error
	events    []ops.Event
	wake      chan struct{}
	over      bool
	mute      bool // never answers, not even at the end of its context
	release   chan struct{}
}

func newGateway() *gateway {
	return &gateway{wake: make(chan struct{}), release: make(chan struct{}), snap: someSnapshot(), request: ops.Request{ID: "r1", State: ops.RequestDone}}
}

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func someSnapshot() ops.Snapshot {
	return ops.Snapshot{
		Status: ops.Status{
			Life: "life-1", PID: 4121, State: ops.StateRunning, StartedAt: ops.At(began), Version: "v1",
			Counts: ops.Counts{Sessions: 3, RunningTurns: 1, CachedAgents: 2, Processes: 1, Adapters: 2, AdaptersConnected: 1},
		},
		Seq: 1,
		Sessions: []ops.Session{
			{Key: "api:user:alice", ID: "s1", State: ops.SessionRunning, Turn: "t1", Cached: true, Processes: 1, LastActivityAt: ops.At(began)},
			{Key: "cli:local", ID: "s2", State: ops.SessionIdle, Cached: true, LastActivityAt: ops.At(began.Add(-time.Minute))},
			{Key: "telegram:dm:7", ID: "s3", State: ops.SessionIdle, LastActivityAt: ops.At(began.Add(-time.Hour))},
		},
		Agents:    []ops.Agent{{Session: "api:user:alice", State: "running", Busy: true}, {Session: "cli:local", State: "idle"}},
		Processes: []ops.Process{{PID: 4711, StartTicks: 9, Session: "api:user:alice", Command: "sleep 60", State: "running"}},
		Adapters:  []ops.Adapter{{Name: "api", State: ops.AdapterConnected}, {Name: "telegram", State: ops.AdapterPaused}},
	}
}

// someRequests are what waits for a person: a command, a question with and one without options, an unknown person.
func someRequests() []ops.InboxItem {
	return []ops.InboxItem{
		{ID: "AAA1", Kind: ops.InboxCommand, Session: "api:user:alice", Turn: "t1", AskedAt: ops.At(began), State: ops.InboxWaiting, Command: "rm -r build", Options: []string{"once", "session", "always"}},
		{ID: "BBB2", Kind: ops.InboxQuestion, Session: "cli:local", Turn: "t2", AskedAt: ops.At(began.Add(time.Second)), State: ops.InboxWaiting, Text: "Which host?", Options: []string{"staging", "production"}},
		{ID: "CCC3", Kind: ops.InboxPairing, AskedAt: ops.At(began.Add(2 * time.Second)), State: ops.InboxWaiting, Text: "telegram:77 asks to come in", Options: []string{"once"}},
		{ID: "DDD4", Kind: ops.InboxCommand, Session: "telegram:dm:7", Turn: "t0", AskedAt: ops.At(began.Add(-time.Hour)), State: ops.InboxDenied, Command: "reboot", By: "maria"},
	}
}

func someStop() *ops.Shutdown {
	return &ops.Shutdown{
		ID: "stop-1", Life: "life-1", Mode: ops.ModeGraceful, StartedAt: ops.At(began), Outcome: ops.ShutdownRunning,
		Phases: []ops.Phase{
			{Name: "mark", State: ops.StepDone, PhaseRules: ops.PhaseRules{Vital: true}},
			{Name: "adapters", State: ops.StepRunning, BudgetMS: 5000, Items: []ops.Item{
				{Kind: "adapter", ID: "telegram", State: ops.StepRunning, ElapsedMS: 4000, BudgetMS: 5000},
				{Kind: "adapter", ID: "api", State: ops.StepRunning, ElapsedMS: 10, BudgetMS: 5000},
			}},
			{Name: "stores", State: ops.StepPending, BudgetMS: 2000, PhaseRules: ops.PhaseRules{Vital: true}},
		},
	}
}

// change does something to the gateway under its lock.
func (g *gateway) change(f func(g *gateway)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g)
}

// stopping puts the gateway into a stop.
func (g *gateway) stopping() {
	g.change(func(g *gateway) {
		g.snap.State, g.stop = ops.StateStopping, someStop()
		g.snap.Shutdown = g.stop
	})
}

func (g *gateway) emit(e ops.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e.Seq = uint64(len(g.events) + 1)
	g.events = append(g.events, e)
	close(g.wake)
	g.wake = make(chan struct{})
}

func (g *gateway) commands() []ops.Command {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]ops.Command(nil), g.given...)
}

func (g *gateway) enter(ctx context.Context) error {
	g.mu.Lock()
	mute, err := g.mute, g.err
	g.mu.Unlock()
	if mute {
		<-g.release
		return context.DeadlineExceeded
	}
	return err
}

func (g *gateway) Status(ctx context.Context) (ops.Status, error) {
	if err := g.enter(ctx); err != nil {
		return ops.Status{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.snap.Status, nil
}

func (g *gateway) Snapshot(ctx context.Context, most ...ops.Most) (ops.Snapshot, error) {
	if err := g.enter(ctx); err != nil {
		return ops.Snapshot{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looks++
	s := g.snap
	s.Seq = uint64(len(g.events))
	s.Sessions = append([]ops.Session(nil), s.Sessions...)
	s.Processes = append([]ops.Process(nil), s.Processes...)
	if n := len(g.crowd); n > 0 {
		shown := min(n, ops.SnapshotSessions)
		for _, m := range most {
			if m.Table == ops.TableSessions {
				shown = min(shown, m.Rows)
			}
		}
		s.Sessions, s.Counts.Sessions = slices.Clone(g.crowd[:shown]), n
		s.Omitted = &ops.Omitted{Sessions: n - shown, Next: strconv.Itoa(shown)}
	}
	return s, nil
}

// Sessions pages through the crowd; a cursor is an index in it.
func (g *gateway) Sessions(_ context.Context, q ops.Query) (ops.Page[ops.Session], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var p ops.Page[ops.Session]
	if q.Key != "" {
		if row := find(g.crowd, q.Key, sessionKey); row != nil {
			p.Items = append(p.Items, *row)
		}
		return p, nil
	}
	g.asked = append(g.asked, q)
	picks, err := filter.Parse(q.Filter, filter.Sessions)
	if err != nil {
		return p, err
	}
	at, _ := strconv.Atoi(q.Cursor)
	for ; at < len(g.crowd) && p.Scanned < 1500; at++ {
		if p.Scanned++; picks.Match(&g.crowd[at]) {
			if len(p.Items) == q.Limit {
				break
			}
			p.Items = append(p.Items, g.crowd[at])
		}
	}
	if at < len(g.crowd) {
		p.Next = strconv.Itoa(at)
	}
	return p, nil
}

func (g *gateway) Agents(context.Context, ops.Query) (ops.Page[ops.Agent], error) {
	return ops.Page[ops.Agent]{}, nil
}

func (g *gateway) Processes(context.Context, ops.Query) (ops.Page[ops.Process], error) {
	return ops.Page[ops.Process]{}, nil
}

func (g *gateway) Adapters(context.Context, ops.Query) (ops.Page[ops.Adapter], error) {
	return ops.Page[ops.Adapter]{}, nil
}

func (g *gateway) Inbox(context.Context, ops.Query) (ops.Page[ops.InboxItem], error) {
	return ops.Page[ops.InboxItem]{}, nil
}

// Usage is one row by the name of its group.
func (g *gateway) Usage(ctx context.Context, q ops.UsageQuery) (ops.Page[ops.Usage], error) {
	if err := g.enter(ctx); err != nil {
		return ops.Page[ops.Usage]{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used++
	return ops.Page[ops.Usage]{Items: []ops.Usage{{Group: "one " + q.By, Calls: g.used, TokensIn: 4200}}}, g.usedE
}

func (g *gateway) Budgets(ctx context.Context) (ops.Page[ops.Budget], error) {
	spent := 8.5
	return ops.Page[ops.Budget]{Items: []ops.Budget{{Name: "default", Currency: "USD", Windows: []ops.BudgetWindow{{Window: "day", Limit: 10, Spent: &spent}}}}}, g.enter(ctx)
}

// Logs pages through the log, which is oldest first; ids and cursors are indexes in it.
func (g *gateway) Logs(ctx context.Context, q ops.LogQuery) (ops.Page[ops.LogLine], error) {
	if err := g.enter(ctx); err != nil {
		return ops.Page[ops.LogLine]{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.logged = append(g.logged, q)
	var p ops.Page[ops.LogLine]
	from, until := len(g.log), -1
	if q.Cursor != "" {
		from, _ = strconv.Atoi(q.Cursor)
	}
	if q.After != "" {
		until, _ = strconv.Atoi(q.After)
	}
	for i := from - 1; i > until; i-- {
		if len(p.Items) == q.Limit {
			p.Next = strconv.Itoa(i + 1)
			break
		}
		line := g.log[i]
		line.ID = strconv.Itoa(i)
		if q.About == "" || slices.ContainsFunc(line.Fields, func(f ops.LogField) bool { return f.Value == q.About }) {
			p.Items = append(p.Items, line)
		}
	}
	return p, nil
}

func (g *gateway) Rates(_ context.Context, span time.Duration) (ops.Rates, error) {
	return ops.Rates{At: ops.At(time.Now()), SpanMS: span.Milliseconds()}, nil
}

func (g *gateway) People(context.Context, ops.Query) (ops.Page[ops.Person], error) {
	return ops.Page[ops.Person]{}, nil
}

func (g *gateway) Environments(context.Context, ops.Query) (ops.Page[ops.Environment], error) {
	return ops.Page[ops.Environment]{}, nil
}

func (g *gateway) Servers(context.Context, ops.Query) (ops.Page[ops.Server], error) {
	return ops.Page[ops.Server]{}, nil
}

func (g *gateway) Jobs(context.Context, ops.Query) (ops.Page[ops.Job], error) {
	return ops.Page[ops.Job]{}, nil
}

func (g *gateway) Held(context.Context, ops.Query) (ops.Page[ops.Held], error) {
	return ops.Page[ops.Held]{}, nil
}

func (g *gateway) Browsers(context.Context, ops.Query) (ops.Page[ops.Held], error) {
	return ops.Page[ops.Held]{}, nil
}

func (g *gateway) Notes(context.Context, ops.Query) (ops.Page[ops.Note], error) {
	return ops.Page[ops.Note]{}, nil
}

func (g *gateway) Rules(context.Context, ops.Query) (ops.Page[ops.Rule], error) {
	return ops.Page[ops.Rule]{}, nil
}

func (g *gateway) Plan(ctx context.Context, assume ...string) (ops.Plan, error) {
	return ops.Plan{WorstCaseMS: 28_000, DrainMS: 20_000, Fits: true, If: assume, Phases: []ops.PlanPhase{{Name: "drain", BudgetMS: 20_000, Bound: "shutdown.drain_timeout"}}}, g.enter(ctx)
}

func (g *gateway) Shutdown(ctx context.Context) (ops.Shutdown, error) {
	if err := g.enter(ctx); err != nil {
		return ops.Shutdown{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop == nil {
		return ops.Shutdown{}, &ops.Error{Code: ops.CodeNotFound, Message: "none"}
	}
	return *g.stop, nil
}

func (g *gateway) Transcript(ctx context.Context, session string, q ops.MessageQuery) (ops.Page[ops.Message], error) {
	if err := g.enter(ctx); err != nil {
		return ops.Page[ops.Message]{}, err
	}
	return g.said.Transcript(ctx, session, q)
}

func (g *gateway) Output(ctx context.Context, q ops.OutputQuery) (ops.Output, error) {
	if err := g.enter(ctx); err != nil {
		return ops.Output{}, err
	}
	return g.said.Output(ctx, q)
}

func (g *gateway) Turns(ctx context.Context, session string, _ ops.Query) (ops.Page[ops.Turn], error) {
	return ops.Page[ops.Turn]{Items: g.turns[session]}, g.enter(ctx)
}

func (g *gateway) Timeline(ctx context.Context, turn string) (ops.Timeline, error) {
	t, found := g.timelines[turn]
	if !found {
		return t, &ops.Error{Code: ops.CodeNotFound, Message: "no turn " + turn}
	}
	return t, g.enter(ctx)
}

func (g *gateway) Search(ctx context.Context, q ops.SearchQuery) (ops.Found, error) {
	if q.Text == "nothing" {
		return ops.Found{Unindexed: 7}, g.enter(ctx)
	}
	return ops.Found{Page: ops.Page[ops.Hit]{Items: g.hits}}, g.enter(ctx)
}

// History pages as the store does: the cursor is the place of the page's last life, counted from the oldest.
func (g *gateway) History(ctx context.Context, q ops.Query) (ops.Page[ops.Life], error) {
	g.change(func(g *gateway) { g.asked = append(g.asked, q) })
	if err := g.enter(ctx); err != nil {
		return ops.Page[ops.Life]{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.historyE != nil {
		return ops.Page[ops.Life]{}, g.historyE
	}
	rest := g.lives
	if q.Cursor != "" {
		n, _ := strconv.Atoi(q.Cursor)
		rest = rest[len(rest)-n:]
	}
	p := ops.Page[ops.Life]{Items: slices.Clone(rest)}
	if len(rest) > q.Limit {
		p.Items, p.Next = p.Items[:q.Limit], strconv.Itoa(len(rest)-q.Limit)
	}
	return p, nil
}

func (g *gateway) Events(ctx context.Context, after uint64, _ ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		for {
			g.mu.Lock()
			rest, wake, over, err := g.events[min(after, uint64(len(g.events))):], g.wake, g.over, g.err
			g.mu.Unlock()
			for _, e := range rest {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if err != nil {
				yield(ops.Event{}, err)
				return
			}
			if over {
				return
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// end ends the stream of events, with err for a gateway that is gone.
func (g *gateway) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over, g.err = true, err
	close(g.wake)
	g.wake = make(chan struct{})
}

func (g *gateway) Preview(ctx context.Context, cmd ops.Command) (ops.Preview, error) {
	if err := g.enter(ctx); err != nil {
		return ops.Preview{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.preview
	p.Verb, p.Target = cmd.Verb, cmd.Target
	if strings.HasPrefix(string(cmd.Verb), "session.") {
		s := find(slices.Concat(g.snap.Sessions, g.crowd), cmd.Target, sessionKey)
		switch {
		case s == nil:
			return p, &ops.Error{Code: ops.CodeNotFound, Message: "no session " + strconv.Quote(cmd.Target)}
		case cmd.Expect != "" && cmd.Expect != s.ID:
			return p, &ops.Error{Code: ops.CodeConflict, Message: "the conversation has ended"}
		}
	}
	return p, g.previewE
}

func (g *gateway) Do(ctx context.Context, cmd ops.Command) (ops.Request, error) {
	if err := g.enter(ctx); err != nil {
		return ops.Request{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given = append(g.given, cmd)
	r := g.request
	r.Verb, r.Target = cmd.Verb, cmd.Target
	return r, g.doE
}

func (g *gateway) Request(ctx context.Context, id string, wait bool) (ops.Request, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.request, g.doE
}
