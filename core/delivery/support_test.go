package delivery

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everyone is a member.
type everyone struct{}

func (everyone) Role(access.Person) ops.Role { return ops.RoleMember }

// world is what a test gives an Outbox: a platform, a journal, tasks and a meter that write down what they are asked.
type world struct {
	mu sync.Mutex
	// fail is the platform's answer to a message; nil: it takes everything.
	fail    func(m adapter.Outgoing) error
	sent    []string          // target and text of what the platform took
	tries   int               // calls of the platform
	ended   map[string]string // by id: why the platform refused it, empty if it took it
	put     []store.Outbox
	answers []store.Outbox
	lastID  int
	stopped bool
	putErr  error // why PutOutbox fails; nil: it does not
	// refusals is how many more records the journal refuses: answers and ends of deliveries. answered are the messages that have an answer.
	refusals int
	answered []string
	manner   Manner
	notes    []store.Outbox // what SetOutbox got
	drafts   map[string]store.Draft
	tasks    sync.WaitGroup
}

func newWorld() *world { return &world{ended: map[string]string{}, drafts: map[string]store.Draft{}} }

func (w *world) outbox(t *testing.T) *Outbox {
	o := NewOutbox(OutboxOptions{
		Tasks: w, Meter: w, Log: slog.New(slog.DiscardHandler), NewID: w.newID, Manner: func(string) Manner { return w.manner }, Files: w,
	})
	o.Open(w, w)
	t.Cleanup(w.tasks.Wait)
	return o
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastID++
	return strconv.Itoa(w.lastID)
}

func (w *world) Send(_ context.Context, _ string, m adapter.Outgoing) (adapter.Sent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tries++
	if w.fail != nil {
		if err := w.fail(m); err != nil {
			return adapter.Sent{}, err
		}
	}
	w.sent = append(w.sent, m.Target+": "+m.Text)
	return adapter.Sent{IDs: []string{""}}, nil
}

func (w *world) SendFile(ctx context.Context, name, target string, f adapter.OutgoingFile) (adapter.Sent, error) {
	return w.Send(ctx, name, adapter.Outgoing{Target: target, Text: "file " + f.Name + " " + f.Caption})
}

func (w *world) Outgoing(file string) (adapter.OutgoingFile, error) {
	if file == "gone" {
		return adapter.OutgoingFile{Name: "old.pdf"}, errors.New("the copy of the file is gone")
	}
	return adapter.OutgoingFile{Name: file}, nil
}

func (w *world) Edit(ctx context.Context, name, _ string, m adapter.Outgoing) (adapter.Sent, error) {
	return w.Send(ctx, name, m)
}

func (w *world) Remove(context.Context, string, string, string) error { return nil }

func (w *world) Draft(context.Context, string, int64, adapter.Outgoing) error { return nil }

func (w *world) Typing(context.Context, string, string) error { return nil }

func (w *world) React(context.Context, string, string, string, string) error { return nil }

func (w *world) Can(string, adapter.Ability) bool { return false }

func (w *world) Bounds(string, string) adapter.Bounds { return adapter.Bounds{} }

func (w *world) SetOutbox(_ context.Context, v store.Outbox) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, v)
	return nil
}

func (w *world) PutDraft(_ context.Context, v store.Draft) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drafts[v.ID] = v
	return nil
}

func (w *world) DropDraft(_ context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.drafts, id)
	return nil
}

func (w *world) Received(string, error) {}

func (w *world) Sent(string, error) {}

func (w *world) PutOutbox(_ context.Context, v store.Outbox) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.putErr != nil {
		return w.putErr
	}
	w.put = append(w.put, v)
	return nil
}

func (w *world) EndOutbox(_ context.Context, id, refused string, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuse(); err != nil {
		return err
	}
	w.ended[id] = refused
	return nil
}

func (w *world) Answer(_ context.Context, id string, reply *store.Outbox) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuse(); err != nil {
		return err
	}
	w.answered = append(w.answered, id)
	if reply != nil {
		w.answers = append(w.answers, *reply)
	}
	return nil
}

// refuse is the error of a record that the journal refuses. The caller holds mu.
func (w *world) refuse() error {
	if w.refusals == 0 {
		return nil
	}
	w.refusals--
	return errFull
}

var errFull = errors.New("the disk is full")

func (w *world) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}

func (w *world) Start(ctx context.Context, _, _ string, run func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.tasks.Go(func() { run(ctx) })
	return true
}

// set changes what the world answers.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}
