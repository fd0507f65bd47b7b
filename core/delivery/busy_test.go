package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/session"
)

// reacting is a platform with reactions. Each call takes a moment and has the errors of fail, in turn.
type reacting struct {
	*world
	takes time.Duration
	fail  []error

	mu    sync.Mutex
	signs []string
}

func (r *reacting) Can(_ string, a adapter.Ability) bool { return a == adapter.AbilityReactions }

func (r *reacting) React(_ context.Context, _, _, id, emoji string) error {
	time.Sleep(r.takes) // virtual
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fail) > 0 {
		err := r.fail[0]
		r.fail = r.fail[1:]
		if err != nil {
			return err
		}
	}
	r.signs = append(r.signs, id+emoji)
	return nil
}

// waiting is an Intake on a platform, behind whose running turn messages wait.
func waiting(t *testing.T, r *reacting) *Intake {
	t.Helper()
	h := &house{known: map[string]string{}}
	o := NewOutbox(OutboxOptions{Tasks: r.world, Meter: r.world, Log: slog.New(slog.DiscardHandler), NewID: r.newID, Manner: func(string) Manner { return r.manner }})
	o.Open(r.world, r)
	i := NewIntake(IntakeOptions{
		Table:   session.NewTable(session.Options{Bounds: session.Bounds{QueueLimit: 8}, NewID: r.newID}),
		Gateway: h, Conversations: h, People: everyone{}, Outbox: o, Events: h, Tasks: r.world, Meter: r.world, Log: slog.New(slog.DiscardHandler), NewID: r.newID,
	})
	i.Open(h)
	return i
}

func written(id, text string) adapter.Inbound {
	return adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", User: "ann", Target: "1", ID: id, Text: text, Chat: adapter.ChatDM}
}

// CV11: a message that waits has a sign, which leaves when a turn takes it, also if the platform is slow or fails. Without a sign there is the
// notice, for the first one that waits. Nothing of this delays a message.
func TestCV11_AMessageThatWaitsHasASign(t *testing.T) {
	gone := &adapter.RefusedError{Why: "REACTION_INVALID"}
	take := func(i *Intake) {
		v, _ := i.o.Table.Running("chat:dm:1")
		for _, m := range i.o.Table.Steer(v.Turn) {
			m.Receipt.Taken()
			m.Receipt.Taken() // twice is as once
		}
	}
	for _, tc := range []struct {
		name    string
		takes   time.Duration
		fail    []error
		do      func(i *Intake)
		signs   []string
		notices int
	}{
		{"until it is taken", 0, nil, func(i *Intake) { synctest.Wait(); take(i) }, []string{"m2👀", "m3👀", "m2", "m3"}, 0},
		{"while it waits", 0, nil, func(*Intake) {}, []string{"m2👀", "m3👀"}, 0},
		{"that leaves after it came, where the platform is slow", time.Second, nil, take, []string{"m2👀", "m3👀", "m2", "m3"}, 0},
		{"or the notice, where the platform refuses it", 0, []error{gone, gone}, func(*Intake) {}, nil, 1},
		{"and no notice once it was taken", time.Second, []error{gone, gone}, take, nil, 0},
		{"that leaves though it may not be there", time.Second, []error{errors.New("timeout"), errors.New("timeout")}, take, []string{"m2", "m3"}, 0},
		{"that may stay where the platform fails", 0, []error{nil, nil, gone, gone}, func(i *Intake) { synctest.Wait(); take(i) }, []string{"m2👀", "m3👀"}, 0},
		{"that leaves with the conversation", 0, nil, func(i *Intake) {
			synctest.Wait()
			_, _, dropped, _ := i.o.Table.BeginReset("chat:dm:1")
			i.o.Outbox.Refuse("chat:dm:1", errors.New("reset"), dropped...)
		}, []string{"m2👀", "m3👀", "m2", "m3"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &reacting{world: newWorld(), takes: tc.takes, fail: tc.fail}
				i := waiting(t, r)
				began := time.Now()
				receive(t, i, written("m1", "work"), written("m2", "more"), written("m3", "and more"))
				if took := time.Since(began); took > 0 {
					t.Errorf("the messages were taken after %v", took)
				}
				tc.do(i)
				r.tasks.Wait()
				got := slices.Clone(r.signs)
				slices.Sort(got)
				want := slices.Clone(tc.signs)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("the signs are %q, want %q", r.signs, tc.signs)
				}
				if slices.Index(r.signs, "m2") >= 0 && slices.Index(r.signs, "m2") < slices.Index(r.signs, "m2"+seen) {
					t.Errorf("a sign came after it was to leave: %q", r.signs)
				}
				notices := 0
				for _, said := range r.sent {
					if strings.Contains(said, "Still working on your last message; I read this one after the running step.") {
						notices++
					}
				}
				if notices != tc.notices {
					t.Errorf("%d notices, want %d: %q", notices, tc.notices, r.sent)
				}
			})
		})
	}
}

// CV7: signs take from the bucket of their chat, and leave the token of the answer.
func TestCV11_SignsKeepTheRateOfTheChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reacting{world: newWorld()}
		i := waiting(t, r)
		chat := "chat 1"
		p := newPace(adapter.Bounds{Messages: 20}, time.Now())
		i.o.Outbox.paces[chat] = p
		receive(t, i, written("m0", "work"))
		for range 40 {
			s := i.o.Outbox.receipt(written("m1", "more"))
			s.Waits(func() {})
		}
		r.tasks.Wait()
		if most := int((p.burst - reserved) / reactionCost); len(r.signs) != most {
			t.Errorf("%d signs at once, want %d", len(r.signs), most)
		}
		if p.tokens < reserved {
			t.Errorf("%g tokens are left for the answer", p.tokens)
		}
	})
}

func TestCV11_WhatBecomesOfAMessageDuringATurn(t *testing.T) {
	long := strings.Repeat("ä", session.Long)
	for _, tc := range []struct {
		name   string
		key    string
		manner Manner
		chosen session.Busy
		deaf   bool
		in     adapter.Inbound
		busy   session.Busy
		joins  bool
		join   time.Duration
		text   string
	}{
		{name: "in a direct message the turn reads it", key: "chat:dm:1", in: written("1", "hi"), busy: session.BusySteer, joins: true, text: "hi"},
		{name: "elsewhere it waits", key: "chat:group:1:topic:2", in: written("1", "hi"), busy: session.BusyQueue, joins: true, text: "hi"},
		{name: "the chat of its route says otherwise", key: "chat:dm:1", manner: Manner{Busy: session.BusyInterrupt}, in: written("1", "hi"), busy: session.BusyInterrupt, joins: true, text: "hi"},
		{name: "its people chose otherwise", key: "chat:dm:1", manner: Manner{Busy: session.BusyInterrupt}, chosen: session.BusyQueue, in: written("1", "hi"), busy: session.BusyQueue, joins: true, text: "hi"},
		{name: "once, the turn reads it", key: "chat:dm:1", chosen: session.BusyQueue, in: written("1", "/steer hi"), busy: session.BusySteer, joins: true, text: "hi"},
		{name: "once, it waits, on its own", key: "chat:dm:1", in: written("1", "/queue hi"), busy: session.BusyQueue, text: "hi"},
		{name: "the last word counts", key: "chat:dm:1", in: written("1", "/queue /steer hi"), busy: session.BusySteer, joins: true, text: "hi"},
		{name: "with files it waits", key: "chat:dm:1", in: adapter.Inbound{Text: "look", Files: []adapter.File{{Ref: "1"}}}, busy: session.BusyQueue, joins: true, text: "look"},
		{name: "a turn that reads nothing lets it wait", key: "chat:dm:1", deaf: true, in: written("1", "hi"), busy: session.BusyQueue, joins: true, text: "hi"},
		{name: "so it does once", key: "chat:dm:1", deaf: true, in: written("1", "/steer hi"), busy: session.BusyQueue, joins: true, text: "hi"},
		{name: "it is interrupted all the same", key: "chat:dm:1", deaf: true, chosen: session.BusyInterrupt, in: written("1", "hi"), busy: session.BusyInterrupt, joins: true, text: "hi"},
		{name: "a long one waits for more", key: "chat:dm:1", manner: Manner{Join: time.Second}, in: written("1", long), busy: session.BusySteer, joins: true, join: time.Second, text: long},
		{name: "so does one that is passed on", key: "chat:dm:1", manner: Manner{Join: time.Second}, in: adapter.Inbound{Text: "hi", Forwarded: true}, busy: session.BusySteer, joins: true, join: time.Second, text: "hi"},
		{name: "one character less does not", key: "chat:dm:1", manner: Manner{Join: time.Second}, in: written("1", long[2:]), busy: session.BusySteer, joins: true, text: long[2:]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &reacting{world: newWorld()}
			r.manner = tc.manner
			i := waiting(t, r)
			i.o.Conversations.(*house).deaf = tc.deaf
			if tc.chosen != "" {
				i.o.Table.SetBusy(tc.key, tc.chosen, session.Message{})
			}
			tc.in.Session = tc.key
			q := readRequest(tc.in.Text)
			m := i.mannered(tc.in, q, session.Message{Text: q.text})
			if m.Busy != tc.busy || m.Joins != tc.joins || m.Join != tc.join || m.Text != tc.text {
				t.Errorf("it is %s, joins %v within %v, %.40q; want %s, %v within %v, %.40q", m.Busy, m.Joins, m.Join, m.Text, tc.busy, tc.joins, tc.join, tc.text)
			}
		})
	}
}
