package approval

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/access"
	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// work is the work folder of the tests.
const work = "/srv/work"

// rows is a Store in memory. A fault fails what writes.
type rows struct {
	mu     sync.Mutex
	all    map[string]store.Approval
	rules  []store.ApprovalRule
	audits []store.Audit
	fault  error
}

func newRows() *rows { return &rows{all: map[string]store.Approval{}} }

func (s *rows) PutApproval(_ context.Context, v store.Approval) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.all[v.ID]; exists || s.fault != nil {
		return false, s.fault
	}
	s.all[v.ID] = v
	return true, nil
}

func (s *rows) EndApproval(_ context.Context, v store.Approval, rules ...store.ApprovalRule) (store.Approval, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return store.Approval{}, false, s.fault
	}
	now, found := s.all[v.ID]
	if !found || now.State != store.ApprovalWaiting {
		return now, false, nil
	}
	now.State, now.Scope, now.By, now.Reason, now.Ended = v.State, v.Scope, v.By, v.Reason, v.Ended
	s.all[v.ID] = now
	s.rules = append(s.rules, rules...)
	return now, true, nil
}

func (s *rows) WithdrawApprovals(_ context.Context, reason string, at time.Time) (out []store.Approval, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, v := range s.all {
		if v.State == store.ApprovalWaiting && s.fault == nil {
			v.State, v.Reason, v.Ended = store.ApprovalWithdrawn, reason, at
			s.all[id] = v
			out = append(out, v)
		}
	}
	return out, s.fault
}

func (s *rows) SetApprovalCard(_ context.Context, v store.Approval) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.all[v.ID]
	row.CardChat, row.CardTarget, row.Card = v.CardChat, v.CardTarget, v.Card
	s.all[v.ID] = row
	return nil
}

func (s *rows) Approvals(context.Context, int) (out []store.Approval, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.all {
		out = append(out, v)
	}
	return out, nil
}

func (s *rows) Approval(_ context.Context, id string) (store.Approval, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, found := s.all[id]
	return v, found, nil
}

func (s *rows) ApprovalRules(context.Context) ([]store.ApprovalRule, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rules), nil
}

func (s *rows) DropApprovalRule(_ context.Context, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rules)
	s.rules = slices.DeleteFunc(s.rules, func(r store.ApprovalRule) bool { return r.ID == id })
	return len(s.rules) < before, nil
}

func (s *rows) PutAudit(_ context.Context, a store.Audit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audits = append(s.audits, a)
	return nil
}

func (s *rows) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}

// openDisk opens a store on the disk.
func openDisk(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{Path: filepath.Join(dir, "gateway.db")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeDisk(t testing.TB, s *store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

// turns lets turns wait in a session.Table.
type turns struct{ *session.Table }

func (s turns) Park(key, turn, approval string) bool {
	_, running := s.Table.Park(context.Background(), key, turn, approval, true)
	return running
}

func (s turns) Unpark(ctx context.Context, key, turn, approval string) error {
	slot := s.Table.Unpark(key, turn, approval)
	if slot == nil {
		return nil
	}
	select {
	case <-slot:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// owners are people, each as a platform and an id.
type owners []string

func (o owners) MayAnswer(who access.Person) bool { return slices.Contains(o, who.String()) }

func (o owners) Owners(platform string) (all []access.Person) {
	for _, name := range o {
		if p, id, _ := strings.Cut(name, ":"); p == platform {
			all = append(all, access.Person{Platform: p, ID: id})
		}
	}
	return all
}

// chat is a message that a chat has.
type chat struct {
	key, text string
	choices   []session.Choice
}

// bench is a book with everything around it. It is also its chats, its tasks and its meter.
type bench struct {
	grants map[string][]string // by session
	t      testing.TB
	book   *Book
	table  *session.Table
	rows   Store
	mode   Mode
	people owners

	mu       sync.Mutex
	chats    []chat
	outcomes map[string]int
	events   []ops.EventType
	n        int
}

func newBench(t testing.TB, rows Store) *bench {
	b := &bench{t: t, rows: rows, mode: ModeFence, people: owners{"telegram:4711"}, outcomes: map[string]int{}}
	b.table = session.NewTable(session.Options{Bounds: session.Bounds{QueueLimit: 8}, NewID: b.id})
	b.begin()
	return b
}

// begin is a life: a new book over the same rows.
func (b *bench) begin() {
	b.t.Helper()
	b.book = New(Options{
		Log: slog.New(slog.DiscardHandler), Events: b, Meter: b, Tasks: b, Chats: b, People: &b.people, Table: b.table, NewID: b.id, Grants: func(key string) []string { return b.grants[key] },
	}, NewTerms(30*time.Minute, 30*24*time.Hour, func(e fence.Environment) *fence.Fence {
		return &fence.Fence{Environment: e, Work: work, Home: "/home/u", Own: []string{"/home/u/.gatewaytui"}}
	}, func(string) Mode { return b.mode }))
	if err := b.book.Open(context.Background(), b.rows, turns{b.table}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) id() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return fmt.Sprintf("id-%06d", b.n)
}

func (b *bench) Emit(t ops.EventType, _, _ string, _ ops.Payload) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, t)
}

func (b *bench) Approval(outcome string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes[outcome]++
}

func (b *bench) outcome(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outcomes[name]
}

func (b *bench) Start(ctx context.Context, _, _ string, run func(context.Context)) bool {
	run(ctx)
	return true
}

func (b *bench) Sign(string) string { return "!" }

func (b *bench) PostCard(key, _, text string, choices []session.Choice, arrived func(string)) {
	b.mu.Lock()
	b.chats = append(b.chats, chat{key, text, choices})
	name := fmt.Sprint("m", len(b.chats)-1)
	b.mu.Unlock()
	arrived(name)
}

func (b *bench) Replace(key, _, message, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var at int
	if _, err := fmt.Sscanf(message, "m%d", &at); err != nil {
		at = len(b.chats)
		b.chats = append(b.chats, chat{})
	}
	b.chats[at] = chat{key: key, text: text}
}

func (b *bench) Post(key, _, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chats = append(b.chats, chat{key: key, text: text})
}

func (b *bench) shown() []chat {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.chats)
}

// turn begins a turn in the session of a person's direct messages.
func (b *bench) turn(key string) *session.Turn {
	b.t.Helper()
	turn, _, _, err := b.table.Enqueue(context.Background(), key, session.Message{ID: b.id(), User: "maria (" + key[strings.LastIndexByte(key, ':')+1:] + ")", Target: "chat of " + key, Text: "x", At: time.Now()})
	if err != nil || turn == nil {
		b.t.Fatalf("no turn began in %s: %v", key, err)
	}
	return turn
}

func call(turn *session.Turn) tool.Call {
	return tool.Call{Session: turn.Session.Key, Turn: turn.ID, Agent: "default", Person: turn.Message.User, Progress: func(string) {}}
}

func command(text string) tool.Step {
	return tool.Step{Kind: tool.StepCommand, Text: text, Folder: work, Environment: fence.Local}
}

// waits are the ids of what waits.
func (b *bench) waits() (ids []string) {
	for _, item := range b.book.Inbox() {
		if item.State == ops.InboxWaiting {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// allow and deny answer as an operator does.
func (b *bench) allow(id string, scope ops.Scope) (string, error) {
	return b.book.Answer(context.Background(), ops.Command{Verb: ops.VerbApprove, Target: id, Scope: scope, By: ops.Actor{User: "root"}})
}

func (b *bench) deny(id, reason string) (string, error) {
	return b.book.Answer(context.Background(), ops.Command{Verb: ops.VerbDeny, Target: id, Reason: reason, By: ops.Actor{User: "root"}})
}
