package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/background"
	"gatewaytui/core/delivery"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
	"gatewaytui/fixtures/soak"
)

// home is what outlives a life: the database, and what the chat got.
type home struct {
	t    *testing.T // for what is not the promise
	rt   *rapid.T
	path string
	ids  atomic.Int64

	mu sync.Mutex
	// full means that a write failed: an answer that could not be saved may be followed by that of the next life.
	full   bool
	chat   map[string]string // by the key of the message
	heard  map[string]string // the key of the message that answers a token
	signs  map[string]string // by the id of the message
	stands []string          // texts of notices
}

// life is one run on a home. It dies at one of its writes: nothing that it does from then on has an effect.
type life struct {
	*store.Store
	home          *home
	tasks         *background.Group
	table         *session.Table
	intake        *delivery.Intake
	outbox        *delivery.Outbox
	conversations *Conversations
	left          atomic.Int64 // writes until its death
	full          atomic.Int64 // writes that fail now
	mode          session.Busy
	steps         func() (kind string, takes time.Duration)
}

var errDead = errors.New("the process is dead")

func (l *life) dead() bool { return l.left.Load() <= 0 }

// doomed does a write unless the life dies before it, or the disk is full.
func doomed(l *life, w func() error) error {
	if l.left.Add(-1) <= 0 {
		return errDead
	}
	if l.full.Add(-1) >= 0 {
		return errors.New("the disk is full")
	}
	return w()
}

func (l *life) BeginTurn(ctx context.Context, s store.Session, turn store.Turn, own ...store.Message) error {
	return doomed(l, func() error { return l.Store.BeginTurn(ctx, s, turn, own...) })
}

func (l *life) AppendMessages(ctx context.Context, id, turn string, all []store.Message, c *store.Charge) error {
	return doomed(l, func() error { return l.Store.AppendMessages(ctx, id, turn, all, c) })
}

func (l *life) Steer(ctx context.Context, id, turn string, inbox []string, all []store.Message) error {
	return doomed(l, func() error { return l.Store.Steer(ctx, id, turn, inbox, all) })
}

func (l *life) EndTurn(ctx context.Context, s store.Session, turn store.Turn, all []store.Message) error {
	return doomed(l, func() error { return l.Store.EndTurn(ctx, s, turn, all) })
}

func (l *life) PutInbox(ctx context.Context, v store.Inbox) (id string, fresh bool, err error) {
	err = doomed(l, func() error {
		id, fresh, err = l.Store.PutInbox(ctx, v)
		return err
	})
	return id, fresh, err
}

func (l *life) Answer(ctx context.Context, id string, reply *store.Outbox) error {
	return doomed(l, func() error { return l.Store.Answer(ctx, id, reply) })
}

func (l *life) SetOutbox(ctx context.Context, v store.Outbox) error {
	return doomed(l, func() error { return l.Store.SetOutbox(ctx, v) })
}

func (l *life) EndOutbox(ctx context.Context, id, refused string, at time.Time) error {
	return doomed(l, func() error { return l.Store.EndOutbox(ctx, id, refused, at) })
}

// The platform of a life.

func (l *life) Send(_ context.Context, _ string, m adapter.Outgoing) (adapter.Sent, error) {
	if l.dead() {
		return adapter.Sent{}, errDead
	}
	l.home.mu.Lock()
	defer l.home.mu.Unlock()
	if m.Key == "" {
		l.home.stands = append(l.home.stands, m.Text)
		return adapter.Sent{IDs: []string{"1"}}, nil
	}
	if before, again := l.home.chat[m.Key]; again && before != m.Text && !l.home.full {
		l.home.rt.Errorf("message %s was answered with %q and with %q", m.Key, before, m.Text)
	}
	l.home.chat[m.Key] = m.Text
	l.home.answered(m.Key, m.Text)
	return adapter.Sent{IDs: []string{"1"}}, nil
}

func (l *life) Edit(context.Context, string, string, adapter.Outgoing) (adapter.Sent, error) {
	return adapter.Sent{}, adapter.ErrUnable
}
func (l *life) Remove(context.Context, string, string, string) error { return nil }
func (l *life) SendFile(context.Context, string, string, adapter.OutgoingFile) (adapter.Sent, error) {
	return adapter.Sent{}, adapter.ErrUnable
}
func (l *life) Draft(context.Context, string, int64, adapter.Outgoing) error { return nil }
func (l *life) Typing(context.Context, string, string) error                 { return nil }
func (l *life) Can(_ string, a adapter.Ability) bool                         { return a == adapter.AbilityReactions }

func (l *life) Bounds(string, string) adapter.Bounds { return adapter.Bounds{} }

func (l *life) React(_ context.Context, _, _, id, emoji string) error {
	l.home.mu.Lock()
	defer l.home.mu.Unlock()
	if l.home.signs[id] = emoji; emoji == "" {
		delete(l.home.signs, id)
	}
	return nil
}

// What conversations need besides.

func (l *life) Admit() error { return nil }

func (l *life) Damaged() bool { return false }

func (l *life) ClockDoubted() bool                                                    { return false }
func (l *life) Load(context.Context, string) error                                    { return nil }
func (l *life) Take(string) (string, func())                                          { return "", func() {} }
func (l *life) Drop(string)                                                           {}
func (l *life) Prompt(bool) string                                                    { return "" }
func (l *life) Emit(ops.EventType, string, string, ops.Payload)                       {}
func (l *life) Received(string, error)                                                {}
func (l *life) Sent(string, error)                                                    {}
func (l *life) TurnStarted()                                                          {}
func (l *life) TurnEnded(ops.TurnEnded)                                               {}
func (l *life) CountSession(string) int                                               { return 0 }
func (l *life) KillSession(context.Context, string, time.Duration) (r process.Report) { return r }
func (l *life) KillTurn(context.Context, string, time.Duration) (r process.Report)    { return r }

// The model of a life calls a tool that does not exist, which is a step as any other, or answers with what users said since its
// last answer.

func (l *life) Name() string      { return "drawn" }
func (l *life) Window() int       { return 0 }
func (l *life) Vision() bool      { return false }
func (l *life) New() model.Client { return player{l} }

type player struct{ *life }

func (player) Close() error { return nil }

func (p player) Complete(ctx context.Context, req model.Request, delta func(string)) (model.Response, error) {
	kind, takes := p.steps()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	}
	m := model.Message{Role: model.RoleAssistant}
	switch kind {
	case "fail":
		return model.Response{}, errors.New("the endpoint is gone")
	case "step":
		m.ToolCalls = []model.ToolCall{{ID: "c", Name: "nothing", Arguments: "{}"}}
	default:
		var told []string
		for _, said := range req.Messages {
			if said.Role == model.RoleUser {
				told = append(told, token.FindAllString(said.Content, -1)...)
			} else if said.Role == model.RoleAssistant && len(said.ToolCalls) == 0 {
				told = nil
			}
		}
		m.Content = "heard " + strings.Join(told, " ")
	}
	return model.Response{Message: m}, nil
}

// token is what each message of the test has once.
var token = regexp.MustCompile(`<\d+>`)

// noQuestions are the approvals of agents that ask nothing.
type noQuestions struct{ Approvals }

func (noQuestions) TakeAnswer(context.Context, string, session.Message) (bool, error) {
	return false, nil
}

// begin starts a life that dies at its write number left.
func (h *home) begin(left int64, mode session.Busy, steps func() (string, time.Duration)) *life {
	h.t.Helper()
	log := slog.New(slog.DiscardHandler)
	st, err := store.Open(context.Background(), store.Options{Path: h.path, Log: log})
	if err != nil {
		h.t.Fatal(err)
	}
	newID := func() string { return fmt.Sprintf("id-%06d", h.ids.Add(1)) }
	l := &life{Store: st, home: h, tasks: background.New(log), mode: mode, steps: steps}
	l.left.Store(left)
	l.table = session.NewTable(session.Options{Bounds: session.Bounds{QueueLimit: 100}, NewID: newID})
	outbox := delivery.NewOutbox(delivery.OutboxOptions{
		Tasks: l.tasks, Meter: l, Log: log, NewID: newID,
		Manner: func(string) delivery.Manner { return delivery.Manner{Busy: l.mode, Join: 1500 * time.Millisecond} },
	})
	outbox.Open(l, l)
	l.outbox = outbox
	pool := model.NewPool(log, model.Spec{Name: model.Default, Provider: l})
	l.conversations = New(Options{
		People: everyone{}, Approvals: noQuestions{},
		Table: l.table, Cache: agent.NewCache(agent.CacheOptions{Max: 8}),
		Workspace: l, Processes: l, Outbox: outbox, Gate: l, News: l, Tasks: l.tasks, Events: l, Meter: l, Log: log,
		Life: newID(), NewID: newID, Reached: func(string) {}, Stopping: make(chan struct{}),
	}, &Setup{
		Agent:  agent.Config{MaxIterations: 6, Processes: l, Log: log},
		Roster: agent.NewRoster(pool, []agent.Definition{{Name: "default", Models: []string{model.Default}, Tools: new(tool.Set)}}, nil),
		Policy: session.Policy{Daily: -1}, Bounds: Bounds{InterruptGrace: time.Second, KillGrace: time.Second, AgentClose: time.Second},
	})
	l.intake = delivery.NewIntake(delivery.IntakeOptions{
		Table: l.table, Gateway: l, Conversations: l.conversations, People: everyone{}, Outbox: outbox, Events: l, Tasks: l.tasks, Meter: l, Log: log, NewID: newID,
	})
	l.intake.Open(l)
	l.conversations.Open(l, l.intake)
	h.resume(l, outbox)
	return l
}

// resume does what core/recovery does at a start.
func (h *home) resume(l *life, outbox *delivery.Outbox) {
	h.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			h.t.Helper()
			h.t.Fatal(err)
		}
	}
	_, err := l.Store.InterruptRunning(ctx, "crashed", false, time.Now())
	must(err)
	_, err = l.Sessions(ctx, func(s store.Session) error {
		l.table.Load(Stored(s))
		return nil
	})
	must(err)
	unsent, err := l.OpenOutbox(ctx)
	must(err)
	open, err := l.OpenInbox(ctx)
	must(err)
	told := map[string]bool{}
	for _, in := range open {
		if in.State != store.InboxRunning {
			continue
		}
		for _, row := range unsent {
			h.answers(row.ID, row.Text)
		}
		if n := token.FindString(in.Text); h.heard[n] != "" {
			h.rt.Errorf("message %s was answered by %q and is still in work", n, h.heard[n])
		}
		row := delivery.Answer(in, "cut off")
		reply := &row
		if told[in.Session] {
			reply = nil
		}
		told[in.Session] = true
		must(l.Store.Answer(ctx, in.ID, reply))
		if reply != nil {
			unsent = append(unsent, row)
		}
	}
	for _, row := range unsent {
		outbox.Restore(row)
	}
	for _, in := range open {
		if in.State == store.InboxWaiting {
			l.intake.Restore(ctx, in)
		}
	}
	outbox.Connected(ops.Adapter{Name: "chat", State: ops.AdapterConnected})
}

// end ends a life: what it still does has no effect if it died.
func (l *life) end() {
	l.conversations.Cancel()
	l.conversations.Wait()
	synctest.Wait()
	for _, task := range l.tasks.Close() {
		if err := task.Stop(context.Background()); err != nil {
			l.home.rt.Error(err)
		}
	}
	if err := l.Store.Close(context.Background()); err != nil {
		l.home.rt.Error(err)
	}
}

// sent is a message that was accepted.
type sent struct {
	n             int
	session, user string
	steers        bool
}

// CV11: each message that was accepted is in its transcript once, in the order of its sender. It is answered at most once, and none
// is open at the end. That holds for any messages of several senders in any modes, under any kinds of turns. It holds with stops, a
// full disk, and deaths of the process at any write.
func TestCV11_NoMessageIsLostOrAnsweredTwice(t *testing.T) {
	soak.Checks(t, 10, 100) // each has a database for each of its lives
	dir, runs := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", runs))
		modes := rapid.SliceOfN(rapid.SampledFrom([]session.Busy{"", session.BusyQueue, session.BusySteer, session.BusyInterrupt}), 1, 4).Draw(rt, "mode of each life")
		deaths := rapid.SliceOfN(rapid.Int64Range(2, 40), len(modes), len(modes)).Draw(rt, "writes until each death")
		plays := rapid.SliceOfN(rapid.SampledFrom([]string{"step", "step", "step", "answer", "fail"}), 4, 20).Draw(rt, "what the model does")
		paces := rapid.SliceOfN(rapid.IntRange(0, 2000), 4, 20).Draw(rt, "how long that takes, in ms")
		acts := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 2, 3, 4, 5, 5, 5, 5, 10, 11}), 1, 14).Draw(rt, "what people do")
		gaps := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 1, 300, 1200, 5000}), len(acts), len(acts)).Draw(rt, "after how many ms")
		synctest.Test(t, func(t *testing.T) {
			h := &home{t: t, rt: rt, path: path, chat: map[string]string{}, heard: map[string]string{}, signs: map[string]string{}}
			var played atomic.Int64
			steps := func() (string, time.Duration) {
				n := int(played.Add(1))
				return plays[n%len(plays)], time.Duration(paces[n%len(paces)]) * time.Millisecond
			}
			var accepted []sent
			excused := false
			for i, mode := range append(modes, modes[0]) {
				lives := int64(math.MaxInt64)
				if i < len(modes) {
					lives = deaths[i]
				}
				l := h.begin(lives, mode, steps)
				for j, act := range acts {
					time.Sleep(time.Duration(gaps[j]) * time.Millisecond)
					l.outbox.RetryDue(time.Now())
					if l.dead() {
						break
					}
					if m, ok := l.act(act, i*100+j); ok {
						accepted = append(accepted, m)
					} else if act > 9 {
						excused = true
					}
				}
				if lives == math.MaxInt64 {
					for range 6 { // the gateway looks far more often
						time.Sleep(10 * time.Minute)
						l.outbox.RetryDue(time.Now())
					}
					synctest.Wait()
					h.check(l, accepted, excused)
				}
				l.left.Store(0)
				l.end()
			}
		})
	})
}

// act does one thing that people do. It returns the message that was accepted, if it was one.
func (l *life) act(act, n int) (m sent, ok bool) {
	m = sent{n: n, session: "chat:dm:1", user: "ann"}
	text := fmt.Sprintf("<%d>", n)
	m.steers = l.intake.Busy(m.session) == session.BusySteer
	switch act {
	case 0, 1:
		m.session, m.user = "chat:group:1:topic:2", []string{"ann", "bob"}[act]
		m.steers = l.intake.Busy(m.session) == session.BusySteer
	case 2:
		text, m.steers = "/steer "+text, true
	case 3:
		text, m.steers = "/queue "+text, false
	case 4:
		text += strings.Repeat("x", 4000)
	case 10:
		l.full.Store(1)
		l.home.mu.Lock()
		l.home.full = true
		l.home.mu.Unlock()
		return m, false
	case 11:
		l.full.Store(0) // what is withdrawn must be answered in the store
		_, _ = l.conversations.Interrupt(context.Background(), m.session, "", session.ErrInterrupted)
		return m, false
	}
	_, err := l.intake.Receive(context.Background(), adapter.Inbound{
		Adapter: "chat", Session: m.session, User: m.user, Target: "1", Text: text, ID: fmt.Sprint(n), Dedupe: fmt.Sprint(n),
	})
	return m, err == nil
}

// check looks at what is left of all lives. excused means that a message may have been withdrawn, or not have been saved.
func (h *home) check(l *life, accepted []sent, excused bool) {
	ctx := context.Background()
	if open, err := l.OpenInbox(ctx); err != nil || len(open) > 0 {
		h.rt.Errorf("%d messages have no answer (%v): %+v", len(open), err, open)
	}
	var sessions []string
	if _, err := l.Sessions(ctx, func(s store.Session) error {
		sessions = append(sessions, s.ID)
		return nil
	}); err != nil {
		h.rt.Error(err)
	}
	place := map[int]int{} // of each message in its transcript
	for _, id := range sessions {
		entries, err := l.Since(ctx, id, 0)
		if err != nil {
			h.rt.Error(err)
		}
		for _, e := range entries {
			for _, found := range token.FindAllString(e.Content, -1) {
				if e.Role != string(model.RoleUser) {
					continue
				}
				var n int
				_, _ = fmt.Sscanf(found, "<%d>", &n)
				if place[n] > 0 {
					h.rt.Errorf("message %d is in the transcript twice", n)
				}
				place[n] = len(place) + 1
			}
		}
	}
	last := map[string]int{}
	for _, m := range accepted {
		if place[m.n] == 0 {
			if !excused {
				h.rt.Errorf("message %d is in no transcript", m.n)
			}
			continue
		}
		who := fmt.Sprint(m.session, m.user, m.steers)
		if before := last[who]; before > place[m.n] {
			h.rt.Errorf("message %d came before an earlier one of its sender", m.n)
		}
		last[who] = place[m.n]
	}
}

// answers notes which messages a reply answers.
func (h *home) answers(key, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered(key, text)
}

// answered is answers with h.mu held.
func (h *home) answered(key, text string) {
	for _, n := range token.FindAllString(text, -1) {
		if before := h.heard[n]; before != "" && before != key && !h.full {
			h.rt.Errorf("message %s was answered by %s and by %s", n, before, key)
		}
		h.heard[n] = key
	}
}

// everyone is a member.
type everyone struct{}

func (everyone) Role(access.Person) ops.Role { return ops.RoleMember }
