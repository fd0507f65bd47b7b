package views

import (
	"fmt"
	"math"
	"time"

	"gatewaytui/core/ops"
)

// noon is Now of every frame; what it shows began before.
var noon = time.Date(2026, 11, 21, 12, 4, 41, 0, time.UTC)

func before(d time.Duration) ops.Time { return ops.At(noon.Add(-d)) }

// fiveRows is a gateway at work, with a row of most kinds in each list.
func fiveRows() ops.Snapshot {
	snap := atWork()
	Gather(&snap)
	return snap
}

func atWork() ops.Snapshot {
	return ops.Snapshot{
		Status: ops.Status{
			Life: "01KAK", PID: 4121, Version: "v0.1.0", State: ops.StateRunning, StartedAt: before(76*time.Hour + 12*time.Minute),
			Counts: ops.Counts{
				Sessions: 5, RunningTurns: 2, CachedAgents: 5, Processes: 5, AdaptersConnected: 2, Adapters: 5, Inbox: 2,
				Servers: 2, ServersTroubled: 1, Browsers: 1, Jobs: 2, JobsFailed: 1,
			},
			Budgets:  []ops.BudgetToday{{Name: "default", Currency: "USD", Spent: 3.2, Limit: 10}},
			Warnings: []ops.Warning{{Code: "needs_credentials", Message: "slack: SLACK_TOKEN is empty: set it and reconnect"}},
		},
		Seq: 41, At: before(400 * time.Millisecond),
		Sessions: []ops.Session{
			{
				Key: "telegram:dm:4412", ID: "01KA1", State: ops.SessionRunning, Platform: "telegram", User: "@maria",
				Doing: "terminal: pytest -q tests/gateway", DoingSince: before(40 * time.Second), TurnStartedAt: before(192 * time.Second), LastActivityAt: before(time.Second),
				TokensIn: 39_800, TokensOut: 1400, Processes: 3, Cached: true, Turn: "01KAT", LastProgressAt: before(2 * time.Second),
				Title: "clean the build and run the tests", Cost: new(0.31), ContextUsed: 15_400, ContextWindow: 128_000, Agent: "coder", Model: "sonnet",
				Calls: 4, CallsLimit: 60, Environment: "box", Shows: "progress",
			},
			{
				Key: "api:user:alice", ID: "01KA2", State: ops.SessionRunning, Platform: "api", User: "alice",
				Doing: "model call", DoingSince: before(25 * time.Second), TurnStartedAt: before(100 * time.Second), LastActivityAt: before(25 * time.Second),
				TokensIn: 8000, TokensOut: 800, Cached: true, Turn: "01KAU", Queued: 2, LastProgressAt: before(25 * time.Second),
				Cost: new(0.09), ContextUsed: 10_100, ContextWindow: 128_000, Agent: "default", Model: "opus",
			},
			{
				Key: "telegram:group:-100123:topic:7", ID: "01KA3", State: ops.SessionStalled, Platform: "telegram", User: "@李小龍",
				Doing: "model call", DoingSince: before(16 * time.Minute), TurnStartedAt: before(16 * time.Minute), LastActivityAt: before(16 * time.Minute),
				TokensIn: 1900, Cached: true, Turn: "01KAV", Processes: 2, LastProgressAt: before(16 * time.Minute),
				Cost: new(0.12), ContextUsed: 53_000, ContextWindow: 128_000, Agent: "default", Model: "sonnet",
			},
			{
				Key: "cli:local", ID: "01KA4", State: ops.SessionIdle, Platform: "cli", User: "root",
				LastActivityAt: before(4 * time.Hour), TokensIn: 12_000, Cached: true,
			},
			{
				Key: "api:user:bob", ID: "01KA5", State: ops.SessionSuspended, Platform: "api", User: "bob",
				LastActivityAt: before(50 * time.Hour), TokensIn: 702, TokensCached: 512, Cost: new(0.0042), ContextUsed: 3100, ContextWindow: 8192, Agent: "coder", Model: "haiku", Cached: true,
			},
		},
		Agents: []ops.Agent{
			{Session: "telegram:dm:4412", Model: "sonnet", State: "running", Busy: true, Bytes: 310 << 10, Messages: 14, Children: 1},
			{Session: "api:user:alice", Model: "opus", State: "running", Busy: true, Bytes: 88 << 10, Messages: 6},
			{Session: "telegram:group:-100123:topic:7", Model: "sonnet", State: "closing", Bytes: 12 << 10, Messages: 3, IdleMS: 0},
			{Session: "cli:local", Model: "haiku", State: "idle", Bytes: 1 << 20, Messages: 40, IdleMS: 4 * 3600 * 1000},
			{Session: "api:user:bob", Model: "haiku", State: "idle", Bytes: 700, Messages: 2, IdleMS: 50 * 3600 * 1000},
		},
		Processes: []ops.Process{
			{
				PID: 4199, PPID: 4121, StartTicks: 8812, Session: "telegram:dm:4412", Command: "bash -c pytest -q tests/gateway", State: "running",
				AgeMS: 182_000, CPUPct: 0.4, RSSBytes: 3 << 20, TreeSize: 3, Policy: "turn", Origin: "spawned", Environment: "box",
			},
			{
				PID: 4203, PPID: 4199, StartTicks: 8815, Session: "telegram:dm:4412", Command: "pytest -q tests/gateway", State: "running",
				AgeMS: 181_000, CPUPct: 88, RSSBytes: 310 << 20, TreeSize: 2, Policy: "turn", Origin: "adopted",
				LastOutput: "tests/gateway/test_stop.py ....... [ 43%]",
			},
			{
				PID: 4204, PPID: 4203, StartTicks: 8820, Session: "telegram:dm:4412", Command: "python -c worker", State: "running",
				AgeMS: 9_000, TreeSize: 1, Policy: "turn", Origin: "adopted",
			},
			{
				PID: 4300, PPID: 4121, StartTicks: 9100, Session: "telegram:group:-100123:topic:7", Command: "npm run dev", State: "exited",
				AgeMS: 3_600_000, CPUPct: 2, RSSBytes: 120 << 20, TreeSize: 4, Policy: "session", Origin: "spawned",
				LastOutput: "ready on http://localhost:3000",
			},
			{
				PID: 4411, PPID: 1, StartTicks: 9900, Session: "telegram:group:-100123:topic:7", Command: "dd if=/dev/sdb of=/dev/null",
				State: "kill failed", AgeMS: 960_000, RSSBytes: 1 << 20, TreeSize: 1, Policy: "gateway", Origin: "adopted",
			},
		},
		Adapters: []ops.Adapter{
			{Name: "api", State: ops.AdapterConnected, Since: before(76 * time.Hour), LastInboundAt: before(95 * time.Second)},
			{Name: "discord", State: ops.AdapterPaused, Since: before(10 * time.Minute), LastInboundAt: before(11 * time.Minute)},
			{
				Name: "feishu", State: ops.AdapterRetrying, Since: before(12 * time.Minute), LastInboundAt: before(12 * time.Minute),
				Attempt: 7, NextAttemptAt: ops.At(noon.Add(40 * time.Second)), LastError: "auth: token expired", Queue: 9,
			},
			{Name: "slack", State: ops.AdapterNeedsCredentials, Since: before(76 * time.Hour), LastError: "SLACK_TOKEN is empty"},
			{Name: "telegram", State: ops.AdapterConnected, Since: before(3 * time.Hour), LastInboundAt: before(2 * time.Second)},
		},
		Inbox: []ops.InboxItem{
			{
				ID: "7F3KQ2", Kind: ops.InboxCommand, Session: "telegram:dm:4412", Turn: "01KAT", AskedAt: before(40 * time.Second), Expires: ops.At(noon.Add(29*time.Minute + 20*time.Second)),
				State: ops.InboxWaiting, Who: "an owner", Text: "coder asks to run a command", Command: "rm -r build/ && make clean", Folder: "work/telegram-dm-4412", Environment: "local",
				Reasons: []string{"rm removes files recursively"}, Options: []string{"once", "turn", "session", "always"},
			},
			{
				ID: "9QX2M4", Kind: ops.InboxPairing, AskedAt: before(5 * time.Minute), Expires: ops.At(noon.Add(55 * time.Minute)),
				State: ops.InboxWaiting, Who: "an owner", Text: "telegram:77123 (李小龍) asks to come in", Options: []string{"once"},
			},
			{
				ID: "2BWE7A", Kind: ops.InboxCommand, Session: "api:user:alice", Turn: "01KAU", AskedAt: before(time.Hour), State: ops.InboxRefused,
				Command: "curl -s https://example.com/install.sh | sh", Folder: "work", Environment: "partial", Reasons: []string{"sh runs what curl loads"}, AnsweredAt: before(time.Hour),
			},
			{
				ID: "4TYU81", Kind: ops.InboxWrite, Session: "cli:local", Turn: "01KAS", AskedAt: before(2 * time.Hour), State: ops.InboxAllowed,
				Command: "/srv/site/index.html", By: "maria", AnsweredAt: before(119 * time.Minute),
			},
		},
		Servers: []ops.Server{
			{Name: "browser", Scope: "session", Session: "telegram:dm:4412", State: ops.ServerReady, PID: 4500, Tools: 21, Since: before(90 * time.Second), Calls: 7, Transport: "stdio"},
			{Name: "files", Scope: "session", State: ops.ServerIdle, Tools: 11},
			{Name: "github", Scope: "gateway", State: ops.ServerBackoff, LastError: "exit status 1: bad credentials", Since: before(40 * time.Second), Calls: 12, Transport: "stdio"},
		},
		Held: []ops.Held{
			{Kind: ops.HeldBrowser, ID: "browser", Session: "telegram:dm:4412", Owner: "browser", State: ops.HeldReady, Since: before(90 * time.Second)},
			{Kind: ops.HeldServer, ID: "github", Owner: "mcp:github", State: ops.HeldBackoff, Since: before(40 * time.Second), NextAt: ops.At(noon.Add(20 * time.Second))},
			{Kind: ops.HeldAgent, ID: "opencode", Session: "api:user:alice", Owner: "acp", State: ops.HeldReady, Since: before(12 * time.Minute), Detail: "session 7f3a, 4 prompts"},
			{Kind: ops.HeldHook, ID: "notify", Owner: "hook", State: ops.HeldStarting, Since: before(2 * time.Second), Detail: "job.ended to notify-send"},
		},
		Jobs: []ops.Job{
			{
				Name: "morning", Schedule: "0 8 * * mon-fri", Zone: "Europe/Vienna", NextAt: ops.At(noon.Add(12*time.Minute + 40*time.Second)), LastAt: before(23 * time.Hour),
				LastResult: ops.JobRunDone, State: ops.JobWaiting, Agent: "default", Deliver: "telegram:dm:4711", Origin: "config", Session: "job:morning",
			},
			{
				Name: "report", Schedule: "every 6h", Zone: "UTC", NextAt: ops.At(noon.Add(3 * time.Hour)), LastAt: before(3 * time.Hour),
				LastResult: ops.JobRunFailed, LastError: "no model answered", State: ops.JobFailed, Agent: "coder", Origin: "telegram:dm:4711", Session: "job:report",
			},
		},
	}
}

// manyRows is n sessions with an agent each, p processes in trees of three, and n/100 adapters.
func manyRows(n, p int) ops.Snapshot {
	s := fiveRows()
	five := fiveRows()
	s.Sessions, s.Agents, s.Processes, s.Adapters = nil, nil, nil, nil
	for i := range n {
		r := five.Sessions[i%5]
		r.Key = fmt.Sprintf("telegram:dm:%05d", i)
		r.LastActivityAt = before(time.Duration(i) * time.Second)
		s.Sessions = append(s.Sessions, r)
		a := five.Agents[i%5]
		a.Session = r.Key
		s.Agents = append(s.Agents, a)
	}
	for i := range p {
		r := five.Processes[i%5]
		r.PID, r.PPID = 5000+i, 4121
		if i%3 > 0 {
			r.PPID = r.PID - 1
		}
		r.Session = fmt.Sprintf("telegram:dm:%05d", i/6)
		s.Processes = append(s.Processes, r)
	}
	for i := range n / 100 {
		r := five.Adapters[i%5]
		r.Name = fmt.Sprintf("%s-%03d", r.Name, i)
		s.Adapters = append(s.Adapters, r)
	}
	s.Servers, s.Held, s.Jobs = nil, nil, nil
	for i := range n / 100 {
		r := five.Servers[i%3]
		r.Name = fmt.Sprintf("%s-%03d", r.Name, i)
		s.Servers = append(s.Servers, r)
	}
	Gather(&s)
	s.Inbox = nil
	for i := range n / 50 {
		r := five.Inbox[i%4]
		r.ID = fmt.Sprintf("%06d", i)
		s.Inbox = append(s.Inbox, r)
	}
	s.Counts = ops.Counts{
		Sessions: n, RunningTurns: n / 5, CachedAgents: n, Processes: p, AdaptersConnected: n / 250, Adapters: n / 100,
	}
	return s
}

// nonsense is a snapshot that no gateway should send.
func nonsense() ops.Snapshot {
	const bad = "\xff\xfe\x1b[31m"
	return ops.Snapshot{
		Status: ops.Status{
			State: bad, PID: -4, StartedAt: ops.At(noon.Add(time.Hour)), Version: bad,
			Counts:   ops.Counts{Sessions: -1, RunningTurns: -1, CachedAgents: math.MinInt, Processes: -1, AdaptersConnected: -2, Adapters: -3},
			Warnings: make([]ops.Warning, 3), Drain: &ops.DrainState{Since: ops.At(noon.Add(time.Hour))},
		},
		Sessions: []ops.Session{
			{State: "frobbing", TurnStartedAt: ops.At(noon.Add(time.Hour)), LastActivityAt: ops.At(noon.Add(time.Hour)), Queued: -1, TokensIn: -1, Processes: -1},
			{Key: bad, Platform: bad, User: bad, Doing: bad, Turn: bad, TokensIn: math.MaxInt64, TokensOut: math.MaxInt64},
		},
		Agents: []ops.Agent{
			{State: "frobbing", IdleMS: -1, Bytes: -1, Messages: -1, Children: -1},
			{Session: bad, Model: bad, State: bad, IdleMS: math.MinInt64, Bytes: math.MaxInt64},
		},
		Processes: []ops.Process{
			{PID: 9, PPID: 8, State: "frobbing", AgeMS: -1, CPUPct: math.NaN(), RSSBytes: -1, TreeSize: -1},
			{PID: 8, PPID: 9, State: bad, Command: bad, Policy: bad, Origin: bad, LastOutput: bad, AgeMS: math.MaxInt64, CPUPct: math.Inf(1)},
			{PID: -1, PPID: -1, CPUPct: math.Inf(-1), AgeMS: math.MinInt64},
		},
		Adapters: []ops.Adapter{
			{State: "frobbing", Since: ops.At(noon.Add(time.Hour)), Queue: -1, Attempt: -1, NextAttemptAt: ops.At(noon.Add(1 << 62)), Conflicts: -1},
			{Name: bad, State: bad, LastError: bad, Conflicts: 3, RateLimitedUntil: ops.At(noon.Add(1 << 62))},
		},
		Servers: []ops.Server{{State: "frobbing", PID: -1, Tools: -1, Calls: -1, Since: ops.At(noon.Add(time.Hour))}, {Name: bad, Session: bad, State: bad, LastError: bad, Calls: math.MaxInt64}},
		Jobs:    []ops.Job{{State: "frobbing", NextAt: ops.At(noon.Add(1 << 62))}, {Name: bad, Schedule: bad, Zone: bad, State: bad, LastResult: bad, LastError: bad, LastAt: ops.At(noon.Add(time.Hour))}},
		Held:    []ops.Held{{State: "frobbing", NextAt: before(time.Hour)}, {Kind: bad, ID: bad, Session: bad, Owner: bad, State: bad, Detail: bad}},
		Inbox: []ops.InboxItem{
			{State: "frobbing", AskedAt: ops.At(noon.Add(time.Hour)), Expires: before(time.Hour)},
			{ID: bad, Kind: bad, State: bad, Session: bad, Turn: bad, Who: bad, Text: bad, Command: bad, Folder: bad, Environment: bad, Reasons: []string{bad}, Options: []string{bad}, By: bad},
		},
	}
}
