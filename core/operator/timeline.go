package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/timeline"
)

// Why a timeline is not whole.
const (
	noteCut  = "the gateway ended during this turn: this is what its messages tell"
	noteOld  = "the calls of this turn were not recorded, or are not kept any more: this is what its messages tell"
	noteRead = "what was recorded of this turn cannot be read: this is what its messages tell"
)

// Turns implements ops.Console. It reads one page from the store, and the running turn from memory.
func (op *Operator) Turns(ctx context.Context, name string, q ops.Query) (ops.Page[ops.Turn], error) {
	if q.Filter != "" {
		return ops.Page[ops.Turn]{}, &ops.Error{Code: ops.CodeInvalid, Message: "turns take no filter", Hint: "leave it out"}
	}
	if op.store() == nil {
		return ops.Page[ops.Turn]{}, errNoStore
	}
	of, err := op.conversationOf(ctx, name)
	if err != nil {
		return ops.Page[ops.Turn]{}, err
	}
	limit := ops.PageSize(q.Limit)
	rows, err := op.store().Turns(ctx, of.ID, q.Cursor, limit+1)
	if err != nil {
		return ops.Page[ops.Turn]{}, unreadable("the turns", err)
	}
	page := ops.Page[ops.Turn]{Items: make([]ops.Turn, 0, len(rows))}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = rows[limit-1].ID
	}
	running, runs := op.o.Table.Running(of.Key)
	if runs && q.Cursor == "" && running.Session.ID == of.ID && !slices.ContainsFunc(rows, func(r store.TurnRow) bool { return r.ID == running.ID }) {
		page.Items = append(page.Items, runningTurn(running.Turn, time.Now())) // the store does not know of it yet
	}
	for _, r := range rows {
		if runs && r.ID == running.ID {
			page.Items = append(page.Items, runningTurn(running.Turn, time.Now()))
			continue
		}
		page.Items = append(page.Items, turnRow(r))
	}
	return page, nil
}

// Timeline implements ops.Console.
func (op *Operator) Timeline(ctx context.Context, id string) (ops.Timeline, error) {
	id, _, _ = strings.Cut(id, "/") // a child's turn is part of its parent's
	for _, v := range op.o.Table.Turns() {
		if v.ID == id {
			return op.runningTimeline(ctx, v.Turn), nil
		}
	}
	if op.store() == nil {
		return ops.Timeline{}, errNoStore
	}
	row, found, err := op.store().Turn(ctx, id)
	if err != nil {
		return ops.Timeline{}, unreadable("the turn", err)
	}
	if !found {
		return ops.Timeline{}, &ops.Error{
			Code: ops.CodeNotFound, Message: "no turn " + term.Quote(id),
			Hint: "`gatewaytui timeline KEY` shows the last turn of a session; a request without a conversation leaves nothing behind",
		}
	}
	t := ops.Timeline{Turn: turnRow(row), Items: []ops.TimelineItem{}, Sums: []ops.TimelineSum{}}
	record, earlier, later, err := op.store().Timeline(ctx, row.SessionID, id)
	if err != nil {
		return t, unreadable("the timeline", err)
	}
	t.Earlier, t.Later = earlier, later
	if r, err := timeline.Decode(record); err == nil && record != "" {
		t.Source, t.Agent, t.LeftOut = ops.FromCalls, r.Agent, r.Left
		t.Items, t.Sums = r.Rows(row.StartedAt, t.ElapsedMS, op.o.Texts.All())
		return t, nil
	}
	t.Note = noteOld
	switch {
	case record != "":
		t.Note = noteRead
	case t.State == string(store.TurnInterrupted):
		t.Note = noteCut
	}
	return t, op.fromMessages(ctx, &t)
}

// runningTimeline is the timeline of a turn that runs. What the store would add is left out if it does not answer.
func (op *Operator) runningTimeline(ctx context.Context, turn *session.Turn) ops.Timeline {
	s, _ := op.o.Table.Get(turn.Session.Key)
	t := ops.Timeline{Turn: runningTurn(turn, time.Now()), Source: ops.FromCalls}
	r := turn.Line.Record(s.Agent, false)
	t.Agent, t.LeftOut = r.Agent, r.Left
	t.Items, t.Sums = r.Rows(turn.Started, t.ElapsedMS, op.o.Texts.All())
	if op.store() != nil {
		if _, earlier, _, err := op.store().Timeline(ctx, turn.Session.ID, turn.ID); err == nil {
			t.Earlier = earlier
		}
	}
	return t
}

// runningTurn is the row of a turn that runs: what its calls used so far.
func runningTurn(turn *session.Turn, now time.Time) ops.Turn {
	t := ops.Turn{
		ID: turn.ID, Session: turn.Session.Key, State: string(store.TurnRunning), StartedAt: ops.At(turn.Started), ElapsedMS: ops.Millis(now.Sub(turn.Started)),
	}
	for _, i := range turn.Line.Record("", false).Items {
		t.TokensIn, t.TokensCached, t.TokensOut = t.TokensIn+i.In, t.TokensCached+i.Cached, t.TokensOut+i.Out
		if i.Priced {
			cost := i.Cost
			if t.Cost != nil {
				cost += *t.Cost
			}
			t.Cost = &cost
		}
	}
	return t
}

// turnRow is a turn of the store as operators see it.
func turnRow(r store.TurnRow) ops.Turn {
	t := ops.Turn{
		ID: r.ID, Session: r.Key, State: r.State, Reason: r.Reason, StartedAt: ops.At(r.StartedAt), EndedAt: ops.At(r.EndedAt),
		TokensIn: r.TokensIn, TokensCached: r.TokensCached, TokensOut: r.TokensOut,
	}
	if !r.StartedAt.IsZero() && !r.EndedAt.IsZero() {
		t.ElapsedMS = ops.Millis(r.EndedAt.Sub(r.StartedAt))
	}
	if r.Priced {
		t.Cost = &r.Cost
	}
	return t
}

// fromMessages fills t with what the messages of its turn tell: which calls ended, and when. How long they took is not known.
func (op *Operator) fromMessages(ctx context.Context, t *ops.Timeline) error {
	t.Source = ops.FromMessages
	entries, err := op.store().TurnEntries(ctx, t.ID, 2*timeline.Most)
	if err != nil {
		return unreadable("the messages of the turn", err)
	}
	names := callNames{op: op}
	for _, e := range entries {
		item := ops.TimelineItem{EndedAt: ops.At(e.At)}
		switch e.Role {
		case "assistant":
			item.Kind, item.Name = ops.TimelineModel, "model"
			names.add(callsOf(e.ToolCalls))
		case "tool":
			item.Kind, item.Name = ops.TimelineTool, term.Clean(names.names[e.ToolCallID], 60)
		}
		if e.At.After(t.KnownUntil.Time) {
			t.KnownUntil = ops.At(e.At)
		}
		if item.Kind == "" {
			continue
		}
		if len(t.Items) == timeline.Most {
			t.LeftOut++
			continue
		}
		t.Items = append(t.Items, item)
		at := slices.IndexFunc(t.Sums, func(s ops.TimelineSum) bool { return s.Kind == item.Kind })
		if at < 0 {
			at = len(t.Sums)
			t.Sums = append(t.Sums, ops.TimelineSum{Kind: item.Kind})
		}
		t.Sums[at].Calls++
	}
	return nil
}
