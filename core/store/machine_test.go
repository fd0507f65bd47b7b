package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
)

// conversations is the model: what the store holds of sessions, turns and messages, in maps.
type conversations struct {
	s        *Store
	now      time.Time
	sessions map[string]*Session
	turns    map[string]*Turn
	messages map[string][]string // of a session
	cut      map[string]int      // in how many lives running a session's turn was cut off
	ids      int
}

func (c *conversations) tick() time.Time {
	c.now = c.now.Add(time.Second)
	return c.now
}

func (c *conversations) current(key string) *Session {
	for _, v := range c.sessions {
		if v.Key == key && v.EndedAt.IsZero() {
			return v
		}
	}
	return nil
}

func (c *conversations) running(sessionID string) *Turn {
	for _, turn := range c.turns {
		if turn.SessionID == sessionID && turn.State == TurnRunning {
			return turn
		}
	}
	return nil
}

func (c *conversations) interrupt(turn *Turn) {
	if turn != nil {
		turn.State = TurnInterrupted
	}
}

func (c *conversations) end(v *Session, at time.Time, reason string) {
	if v == nil {
		return
	}
	c.interrupt(c.running(v.ID))
	if v.EndedAt.IsZero() {
		v.EndedAt, v.EndReason = at, reason
	}
}

func (c *conversations) session(t *rapid.T) *Session {
	ids := slices.Sorted(keysOf(c.sessions))
	if len(ids) == 0 {
		t.Skip("runs once there is a session")
	}
	return c.sessions[rapid.SampledFrom(ids).Draw(t, "session")]
}

func (c *conversations) turn(t *rapid.T) *Turn {
	ids := slices.Sorted(keysOf(c.turns))
	if len(ids) == 0 {
		t.Skip("runs once there is a turn")
	}
	return c.turns[rapid.SampledFrom(ids).Draw(t, "turn")]
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// answered fails unless the store answered as the model wants.
func answered(t *rapid.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Fatalf("%s was answered %v, want %v", what, got, want)
	}
}

func (c *conversations) actions(ctx context.Context) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"begin a turn": func(t *rapid.T) {
			key := rapid.SampledFrom([]string{"cli:a", "cli:b", "cli:c"}).Draw(t, "key")
			at := c.tick()
			v := c.current(key)
			if v == nil {
				c.ids++
				fresh := session(key, fmt.Sprintf("s%03d", c.ids))
				v = &fresh
			}
			write := *v
			write.LastActivityAt = at
			c.ids++
			turn := Turn{ID: fmt.Sprintf("t%03d", c.ids), SessionID: v.ID, Life: "life", StartedAt: at, State: TurnRunning}
			answered(t, "begin", c.s.BeginTurn(ctx, write, turn, Message{Role: "user", Content: turn.ID, At: at}), nil)
			c.interrupt(c.running(v.ID))
			c.sessions[v.ID], c.turns[turn.ID] = &write, &turn
			c.messages[v.ID] = append(c.messages[v.ID], "user: "+turn.ID)
		},
		"begin a turn in a session that has ended": func(t *rapid.T) {
			v := c.session(t)
			if v.EndedAt.IsZero() {
				t.Skip("runs for a session that has ended")
			}
			turn := Turn{ID: "never", SessionID: v.ID, StartedAt: c.tick()}
			answered(t, "begin", c.s.BeginTurn(ctx, *v, turn, Message{Role: "user", Content: "never"}), errNotCurrent)
		},
		"begin a turn in a second current session": func(t *rapid.T) {
			v := c.session(t)
			if c.current(v.Key) == nil {
				t.Skip("runs for a key with a current session")
			}
			turn := Turn{ID: "never", SessionID: "second", StartedAt: c.tick()}
			answered(t, "begin", c.s.BeginTurn(ctx, session(v.Key, "second"), turn, Message{Role: "user", Content: "never"}), errNotCurrent)
		},
		"append to a turn": func(t *rapid.T) {
			turn := c.turn(t)
			var want error
			if turn.State != TurnRunning {
				want = ErrStaleTurn
			}
			answered(t, "append", c.s.AppendMessages(ctx, turn.SessionID, turn.ID, []Message{
				{Role: "assistant", ToolCalls: `[{"id":"c1"}]`, At: c.now}, {Role: "tool", Content: "of " + turn.ID, ToolCallID: "c1", At: c.now},
			}, nil), want)
			if want == nil {
				c.messages[turn.SessionID] = append(c.messages[turn.SessionID], "assistant: ", "tool: of "+turn.ID)
			}
		},
		"append to a turn under another session's name": func(t *rapid.T) {
			turn, v := c.turn(t), c.session(t)
			if turn.SessionID == v.ID {
				t.Skip("runs for a turn and another session")
			}
			answered(t, "append", c.s.AppendMessages(ctx, v.ID, turn.ID, []Message{{Role: "user"}}, nil), ErrStaleTurn)
		},
		"end a turn": func(t *rapid.T) {
			turn := c.turn(t)
			v := *c.sessions[turn.SessionID]
			v.TokensIn, v.TokensCached, v.LastActivityAt, v.Model, v.ContextUsed = v.TokensIn+5, v.TokensCached+1, c.tick(), "m "+turn.ID, v.ContextUsed+7
			v.State = rapid.SampledFrom([]ops.SessionState{ops.SessionIdle, ops.SessionInterrupted}).Draw(t, "state")
			ended := *turn
			ended.EndedAt = c.now
			ended.State = rapid.SampledFrom([]TurnState{TurnDone, TurnFailed, TurnInterrupted}).Draw(t, "outcome")
			var want error
			if turn.State != TurnRunning {
				want = ErrStaleTurn
			}
			write := v // its key, its user and its end stay as they are
			write.Key, write.User, write.EndedAt, write.EndReason = "cli:stolen", "bob", c.now, "stolen"
			answered(t, "end", c.s.EndTurn(ctx, write, ended, []Message{{Role: "assistant", Content: "end of " + turn.ID}}), want)
			if want == nil {
				if ended.State == TurnDone {
					c.cut[v.ID] = 0
				}
				*turn, *c.sessions[v.ID] = ended, v
				c.messages[v.ID] = append(c.messages[v.ID], "assistant: end of "+turn.ID)
			}
		},
		"end a session": func(t *rapid.T) {
			v, at := c.session(t), c.tick()
			answered(t, "end", c.s.EndSession(ctx, v.ID, at, "reset"), nil)
			c.end(v, at, "reset")
		},
		"resume a session": func(t *rapid.T) {
			old, at := c.session(t), c.tick()
			now := c.current(old.Key)
			currentID := ""
			if now != nil && rapid.Bool().Draw(t, "knows the current one") {
				currentID = now.ID
			}
			var want error
			if old.EndedAt.IsZero() && old.ID != currentID || now != nil && currentID == "" {
				want = errNotCurrent
			}
			got, err := c.s.ReopenSession(ctx, currentID, old.ID, at)
			answered(t, "resume", err, want)
			if want == nil {
				c.end(now, at, "resumed "+old.ID)
				old.EndedAt, old.EndReason, old.State, old.LastActivityAt = time.Time{}, "", ops.SessionIdle, at
				if diff := gocmp.Diff(*old, got); diff != "" {
					t.Fatalf("another session was resumed (-want +got):\n%s", diff)
				}
			}
		},
		"the next life begins": func(t *rapid.T) {
			n, crashed := 0, rapid.Bool().Draw(t, "crashed")
			for _, turn := range c.turns {
				if turn.State != TurnRunning {
					continue
				}
				n++
				c.interrupt(turn)
				c.sessions[turn.SessionID].State = ops.SessionInterrupted
				if crashed {
					c.cut[turn.SessionID]++
				}
				if crashed && c.cut[turn.SessionID] >= SuspendAfter {
					c.sessions[turn.SessionID].State = ops.SessionSuspended
				}
			}
			got, err := c.s.InterruptRunning(ctx, "crash", crashed, c.tick())
			answered(t, "interrupt", err, nil)
			if got != n {
				t.Fatalf("%d turns were interrupted, %d ran", got, n)
			}
		},
		"": func(t *rapid.T) { c.compare(ctx, t) },
	}
}

// compare reads everything back.
func (c *conversations) compare(ctx context.Context, t *rapid.T) {
	var current, got []Session
	ended := map[string][]Session{}
	for _, v := range c.sessions {
		if v.EndedAt.IsZero() {
			current = append(current, *v)
		} else {
			ended[v.Key] = append(ended[v.Key], *v)
		}
	}
	slices.SortFunc(current, func(a, b Session) int { return b.LastActivityAt.Compare(a.LastActivityAt) })
	if _, err := c.s.Sessions(ctx, func(v Session) error { got = append(got, v); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(current, got); diff != "" {
		t.Fatalf("the current sessions are others (-want +read):\n%s", diff)
	}
	if len(ended) > 0 { // one key of them, and below one transcript: the others had their turn, or will have
		key := rapid.SampledFrom(slices.Sorted(keysOf(ended))).Draw(t, "ended key")
		want := ended[key]
		slices.SortFunc(want, func(a, b Session) int {
			return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(b.ID, a.ID))
		})
		got, err := c.s.EndedSessions(ctx, key, 0)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("the ended sessions of %s are others (%v; -want +read):\n%s", key, err, diff)
		}
	}
	running := 0
	for id, v := range c.sessions {
		if turn := c.running(id); turn != nil {
			running++
			if !v.EndedAt.IsZero() {
				t.Fatalf("turn %s runs in a session that has ended", turn.ID)
			}
		}
	}
	if len(c.sessions) > 0 {
		id := c.session(t).ID
		msgs, err := c.s.Since(ctx, id, 0)
		if diff := gocmp.Diff(fmt.Sprint(c.messages[id]), contents(msgs)); diff != "" || err != nil {
			t.Fatalf("the transcript of %s is another (%v; -want +read):\n%s", id, err, diff)
		}
	}
	var n int
	err := c.s.value(ctx, "count", `SELECT count(*) FROM turns WHERE state = 'running'`, &n)
	if n != running || err != nil {
		t.Fatalf("%d turns run (%v), want %d", n, err, running)
	}
}

func TestSessionsTurnsAndMessagesFollowTheModel(t *testing.T) {
	soak.Checks(t, 25, 200)
	s := unsynced(t, t.TempDir())
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		if err := s.write(ctx, "empty", func(tx *tx) error {
			return errors.Join(tx.run("DELETE FROM messages"), tx.run("DELETE FROM turns"), tx.run("DELETE FROM sessions"))
		}); err != nil {
			t.Fatal(err)
		}
		c := &conversations{s: s, now: noon.Add(time.Hour), sessions: map[string]*Session{}, turns: map[string]*Turn{}, messages: map[string][]string{}, cut: map[string]int{}}
		t.Repeat(c.actions(ctx))
	})
}
