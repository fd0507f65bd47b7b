package session

import (
	"context"
	"slices"
	"time"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// wait is what a turn knows of the people that it waits for. Table.mu guards it.
type wait struct {
	// approvals are the ids of what waits for an answer, oldest first.
	approvals []string
	// parked means that the turn holds no slot. back is closed when it has one again; nil: it does not ask for one.
	parked bool
	back   chan struct{}
	place  limit.Place
}

// Park records that the running turn of key, which has this id, waits for a person to answer an approval. Meanwhile it holds no slot,
// and is never stalled. next is the turn that begins in its place, for the caller to run, unless hold keeps it waiting. Park
// reports false, and changes nothing, if that turn does not run any more.
func (tb *Table) Park(ctx context.Context, key, turn, approval string, hold bool) (next *Turn, running bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t := tb.turns[key]
	if t == nil || t.ID != turn {
		return nil, false
	}
	t.wait.approvals = append(t.wait.approvals, approval)
	t.now.Approval, t.now.StalledAt = t.wait.approvals[0], time.Time{}
	tb.reposition(tb.sessions[key])
	if t.wait.parked {
		return nil, true
	}
	t.wait.parked = true
	tb.parked++
	tb.readmit()
	if hold {
		return nil, true
	}
	return tb.next(ctx), true
}

// Unpark ends the wait of Park. The turn may go on when slot is closed; nil: at once. Turns that were answered get the next free slots,
// before new turns, and as those in turn by owner.
func (tb *Table) Unpark(key, turn, approval string) (slot <-chan struct{}) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t := tb.turns[key]
	if t == nil || t.ID != turn || !slices.Contains(t.wait.approvals, approval) {
		return nil
	}
	t.wait.approvals = slices.DeleteFunc(t.wait.approvals, func(id string) bool { return id == approval })
	if t.now.Approval = ""; len(t.wait.approvals) > 0 {
		t.now.Approval = t.wait.approvals[0]
	}
	t.now.Progress = time.Now()
	if t.wait.parked && t.wait.back == nil {
		t.wait.back = make(chan struct{})
		t.wait.place = tb.back.Push(tb.o.Owner(key), t)
	}
	waits := t.wait.back
	tb.readmit()
	if t.wait.parked {
		t.waitingFor, t.now.Doing, t.now.Since = limit.Turns, ops.DoingTurnSlot, t.now.Progress
		tb.o.Reached(limit.Turns)
	}
	tb.reposition(tb.sessions[key])
	return waits
}

// readmit gives free slots to turns that were answered. The caller holds mu.
func (tb *Table) readmit() {
	for tb.back.Len() > 0 && tb.free() {
		t, _ := tb.back.Pop()
		close(t.wait.back)
		t.wait.back, t.wait.parked, t.waitingFor, t.now.Progress = nil, false, "", time.Now()
		tb.parked--
		tb.reposition(tb.sessions[t.Session.Key])
	}
}

// leave takes a turn that was released out of what is counted here. The caller holds mu.
func (tb *Table) leave(t *Turn) {
	if t.wait.back != nil {
		tb.back.Remove(t.wait.place)
		t.wait.back = nil
	}
	if t.wait.parked {
		t.wait.parked = false
		tb.parked--
	}
	t.wait.approvals, t.now.Approval = nil, ""
}
