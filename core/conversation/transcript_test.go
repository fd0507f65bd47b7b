package conversation

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gatewaytui/core/agent"
	"gatewaytui/core/model"
	"gatewaytui/core/store"
)

// disk is a Store that takes transcripts, or fails with err.
type disk struct {
	Store
	err     error
	written []string
}

func (d *disk) AppendMessages(_ context.Context, _, _ string, messages []store.Message, _ *store.Charge) error {
	if d.err != nil {
		return d.err
	}
	for _, m := range messages {
		d.written = append(d.written, m.Content)
	}
	return nil
}

func (d *disk) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}

func say(text string) []model.Message {
	return []model.Message{{Role: model.RoleAssistant, Content: text}}
}

// D5: what a full disk kept out of the store is written later, in its order, and the agent says until then that it is
// unsaved.
func TestWhatCouldNotBeWrittenIsWrittenLaterInItsOrder(t *testing.T) {
	full := errors.New("disk full")
	d := &disk{err: full}
	m := &transcript{store: d, session: "S"}
	ctx := t.Context()
	for _, text := range []string{"one", "two"} {
		if err := m.Append(ctx, "T", say(text), nil); !errors.Is(err, full) {
			t.Fatalf("a failed append answers %v", err)
		}
	}
	if !m.Unsaved() {
		t.Error("it says that everything is saved")
	}
	d.err = nil
	if err := m.Write(ctx, func(context.Context) error { d.written = append(d.written, "the end"); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "the end"}; !slices.Equal(d.written, want) || m.Unsaved() {
		t.Errorf("written %q, unsaved %v; want %q", d.written, m.Unsaved(), want)
	}
}

// D8, D10: a turn that was ended from outside writes nothing, now or later.
func TestAStaleTurnWritesNothingNowOrLater(t *testing.T) {
	d := &disk{err: store.ErrStaleTurn}
	m := &transcript{store: d, session: "S"}
	if err := m.Append(t.Context(), "T", say("late"), nil); !errors.Is(err, agent.ErrStale) || m.Unsaved() {
		t.Errorf("a stale append answers %v, unsaved %v", err, m.Unsaved())
	}
	d.err = errors.New("disk full")
	_ = m.Append(t.Context(), "T", say("kept"), nil)
	d.err = store.ErrStaleTurn
	if err := m.Flush(t.Context()); err != nil || m.Unsaved() {
		t.Errorf("the flush of what has become stale answers %v, unsaved %v", err, m.Unsaved())
	}
	if len(d.written) != 0 {
		t.Errorf("written %q", d.written)
	}
}
