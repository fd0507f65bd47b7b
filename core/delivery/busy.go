package delivery

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Busy is what becomes of a message to the session of key while a turn runs there: as its people chose, else as its chat is
// configured, else the turn reads it in a direct message, and it waits elsewhere.
func (i *Intake) Busy(key string) session.Busy {
	if mode := i.o.Table.Busy(key); mode != "" {
		return mode
	}
	if mode := i.o.Outbox.o.Manner(key).Busy; mode != "" {
		return mode
	}
	if _, rest, _ := strings.Cut(key, ":"); strings.HasPrefix(rest, "dm:") {
		return session.BusySteer
	}
	return session.BusyQueue
}

// mannered is a message of a chat with what becomes of it while a turn runs. One with files is not read by a turn that runs, and an
// external agent reads none: such a message waits, as its chat reads.
func (i *Intake) mannered(in adapter.Inbound, r request, m session.Message) session.Message {
	if r.command != "" {
		return m
	}
	m.Busy, m.Joins = r.once, r.once != session.BusyQueue
	if m.Busy == "" {
		m.Busy = i.Busy(in.Session)
	}
	if m.Busy == session.BusySteer && (len(in.Files) > 0 || !i.o.Conversations.Steerable(in.Session)) {
		m.Busy = session.BusyQueue
	}
	if m.Joins && (in.Forwarded || utf8.RuneCountInString(in.Text) >= session.Long) {
		m.Join = i.o.Outbox.o.Manner(in.Session).Join
	}
	m.Receipt = i.o.Outbox.receipt(in)
	return m
}

// press does what follows from a message that waits: it interrupts the turn, or waits for more of it.
func (i *Intake) press(key string, m session.Message) {
	if m.Busy == session.BusyInterrupt {
		if t := i.o.Table.Overtake(key, m.User); t != nil {
			i.o.Log.Info("turn interrupted by the next message", "session", key, "turn", t.ID, "message", m.ID)
			i.o.Tasks.Start(i.o.Conversations.Context(), "interrupt for the next message", key, func(ctx context.Context) {
				if _, err := i.o.Conversations.Interrupt(ctx, key, t.ID, session.ErrOvertaken); err != nil && !ops.HasCode(err, ops.CodeConflict) {
					i.o.Log.Warn("turn not interrupted", "session", key, "turn", t.ID, "error", term.Clean(err.Error(), 300))
				}
			})
		}
	}
	if m.Join > 0 { // the stop ends the task, and the next life works on the message
		i.o.Tasks.Start(i.o.Conversations.Context(), "join a long message", key, func(ctx context.Context) {
			timer := time.NewTimer(m.Join)
			defer timer.Stop()
			select {
			case <-timer.C:
				i.o.Conversations.Gathered(key)
			case <-ctx.Done():
			case <-i.o.Conversations.Context().Done():
			}
		})
	}
}

// receipt shows a chat that its message waits behind the running turn: with a sign on the message where the platform has those,
// else with a notice for the first one of a queue.
func (i *Intake) receipt(key string, m session.Message, notice bool) {
	if v, running := i.o.Table.Running(key); m.Instant || !running || v.Interrupt != nil {
		return
	}
	say := func() {
		if !notice {
			return
		}
		place := "this one is next"
		if m.Busy == session.BusySteer {
			place = "I read this one after the running step"
		}
		i.o.Outbox.Notice(key, m.Target, "Still working on your last message; "+place+". /stop interrupts.")
	}
	if m.Receipt == nil {
		say()
		return
	}
	m.Receipt.Waits(say)
}

// merged records that the answer to another message is the answer to in.
func (o *Outbox) merged(in store.Inbox) {
	ctx, cancel := o.journal.Patient(context.Background())
	defer cancel()
	row := store.Outbox{ID: in.ID, Session: in.Session, Adapter: in.Adapter}
	o.owe("message not recorded as answered", owed{row: row, inbox: in.ID, missing: true, over: true, at: time.Now()}, o.journal.Answer(ctx, in.ID, nil))
}
