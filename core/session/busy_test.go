package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// from is a message of a chat: it may be joined.
func from(user, text string, mode Busy) Message {
	return Message{ID: text, User: user, Text: text, At: time.Now(), Joins: true, Busy: mode}
}

func put(t *testing.T, tb *Table, m Message) *Turn {
	t.Helper()
	turn, _, _, err := tb.Enqueue(t.Context(), "chat:dm:1", m)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func texts(all []Message) (out []string) {
	for _, m := range all {
		out = append(out, m.Text)
	}
	return out
}

// CV11: what waits of one sender in a row is one turn, and a message of its own is not a part of one.
func TestCV11_WhatWaitsOfOneSenderIsOneTurn(t *testing.T) {
	own, files := from("ann", "own", BusyQueue), from("ann", "f1", BusyQueue)
	own.Joins, files.Files = false, `[{"ref":"1"}]`
	more, many := files, files
	more.Text, more.Files = "f2", `[{"ref":"2"},{"ref":"3"}]`
	many.Text, many.Files = "f3", "["+strings.Repeat(`{"ref":"4"},`, 9)+`{"ref":"4"}]`
	cut := strings.Repeat("y", Long)
	kept := func(text string) Message { return Message{User: "ann", Text: text, Kept: true} }
	large := from("ann", strings.Repeat("x", maxJoined), BusyQueue)
	for _, tc := range []struct {
		name    string
		waiting []Message
		want    []string
	}{
		{"of one sender", []Message{from("ann", "a", ""), from("ann", "b", BusySteer), from("ann", "c", "")}, []string{"a\n\nb\n\nc"}},
		{"of two senders", []Message{from("ann", "a", ""), from("bob", "b", ""), from("bob", "c", ""), from("ann", "d", "")}, []string{"a", "b\n\nc", "d"}},
		{"with one of its own", []Message{from("ann", "a", ""), own, from("ann", "b", "")}, []string{"a", "own", "b"}},
		{"with files", []Message{from("ann", "a", ""), files, more, from("ann", "b", "")}, []string{"a\n\nf1\n\nf2\n\nb " + `[{"ref":"1"},{"ref":"2"},{"ref":"3"}]`}},
		{"with too many files for one", []Message{files, many}, []string{`f1 [{"ref":"1"}]`, "f3 " + many.Files}},
		{"a text without end", []Message{from("ann", "a", ""), large, from("ann", "b", "")}, []string{"a", large.Text, "b"}},
		{"of an earlier life", []Message{kept("a"), kept("b"), kept(cut), kept("the rest"), kept("c")}, []string{"a", "b", cut + "\nthe rest", "c"}},
		{"of the API", []Message{{Text: "a", Instant: true}, {Text: "b", Instant: true}}, []string{"a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tb := NewTable(Options{Bounds: Bounds{QueueLimit: 9}, NewID: counter()})
			turn := put(t, tb, from("ann", "first", ""))
			for _, m := range tc.waiting {
				put(t, tb, m)
			}
			var got []string
			answered := 0
			for turn != nil {
				if turn, _ = tb.Release(t.Context(), turn, End{State: ops.SessionIdle}); turn != nil {
					got = append(got, strings.TrimSpace(turn.Message.Text+" "+turn.Message.Files))
					answered += 1 + len(tb.Others(turn))
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the turns read %.80q, want %.80q", got, tc.want)
			}
			if answered != len(tc.waiting) {
				t.Errorf("%d of %d messages belong to a turn", answered, len(tc.waiting))
			}
			if c := tb.Counts(); c.Queued != 0 || c.QueuedBytes != 0 {
				t.Errorf("%d messages of %d bytes are counted in the end", c.Queued, c.QueuedBytes)
			}
		})
	}
}

func TestCV11_ATurnTakesTheMessagesThatItMayRead(t *testing.T) {
	long := from("ann", "long", BusySteer)
	long.Join = time.Second
	for _, tc := range []struct {
		name    string
		turn    Message
		waiting []Message
		before  func(tb *Table, turn *Turn)
		taken   []string
		left    int
	}{
		{"in their order", from("ann", "x", ""), []Message{from("ann", "a", BusySteer), from("bob", "b", BusySteer)}, nil, []string{"a", "b"}, 0},
		{"past those that wait", from("ann", "x", ""), []Message{from("ann", "a", BusyQueue), from("ann", "b", BusySteer), from("ann", "c", "")}, nil, []string{"b"}, 2},
		{"none that may still go on", from("ann", "x", ""), []Message{from("ann", "a", BusySteer), long}, nil, nil, 2},
		{"none for a program that waits", Message{Text: "x", Instant: true}, []Message{from("ann", "a", BusySteer)}, nil, nil, 1},
		{"none for a compaction", Message{Text: "/compact", Compact: true}, []Message{from("ann", "a", BusySteer)}, nil, nil, 1},
		{"none once it was interrupted", from("ann", "x", ""), []Message{from("ann", "a", BusySteer)}, func(tb *Table, turn *Turn) {
			tb.Interrupt("chat:dm:1", turn.ID, ErrInterrupted)
		}, nil, 1},
		{"none once it was released", from("ann", "x", ""), []Message{from("ann", "a", BusySteer), from("ann", "b", BusySteer)}, func(tb *Table, turn *Turn) {
			tb.Release(t.Context(), turn, End{State: ops.SessionIdle, Hold: true})
		}, nil, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := NewTable(Options{Bounds: Bounds{QueueLimit: 9}, NewID: counter()})
				turn := put(t, tb, tc.turn)
				for _, m := range tc.waiting {
					put(t, tb, m)
				}
				if tc.before != nil {
					tc.before(tb, turn)
				}
				taken := tb.Steer(turn)
				if got := texts(taken); !slices.Equal(got, tc.taken) || !slices.Equal(texts(tb.Others(turn)), tc.taken) {
					t.Errorf("it took %q and answers %q, want %q", got, texts(tb.Others(turn)), tc.taken)
				}
				if row, _ := tb.Row("chat:dm:1"); row.Queued != tc.left {
					t.Errorf("%d wait, want %d", row.Queued, tc.left)
				}
			})
		})
	}
}

// CV11: one interrupt for each turn, and only by its own sender.
func TestCV11_ATurnIsOvertakenOnceByItsSender(t *testing.T) {
	for _, tc := range []struct {
		name   string
		turn   Message
		before func(tb *Table, turn *Turn)
		by     string
		want   bool
	}{
		{"by its sender", from("ann", "x", ""), nil, "ann", true},
		{"not by another", from("ann", "x", ""), nil, "bob", false},
		{"not twice", from("ann", "x", ""), func(tb *Table, _ *Turn) { tb.Overtake("chat:dm:1", "ann") }, "ann", false},
		{"not a turn that a program waits for", Message{User: "ann", Text: "x", Instant: true}, nil, "ann", false},
		{"not once its answer is on its way", from("ann", "x", ""), func(tb *Table, turn *Turn) { tb.Progress(turn, ops.DoingReply) }, "ann", false},
		{"not a compaction", Message{User: "ann", Text: "/compact", Compact: true}, nil, "ann", false},
		{"not one that fetches its files", Message{User: "ann", Text: "x", Files: "[{}]"}, nil, "ann", false},
		{"one that has its files", Message{User: "ann", Text: "x", Files: "[{}]"}, func(tb *Table, turn *Turn) { tb.Attach(turn, nil) }, "ann", true},
		{"not one that has read another's message", from("ann", "x", ""), func(tb *Table, turn *Turn) {
			tb.Enqueue(t.Context(), "chat:dm:1", from("bob", "b", BusySteer))
			tb.Steer(turn)
		}, "ann", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tb := NewTable(Options{Bounds: Bounds{QueueLimit: 9}, NewID: counter()})
			turn := put(t, tb, tc.turn)
			if tc.before != nil {
				tc.before(tb, turn)
			}
			if got := tb.Overtake("chat:dm:1", tc.by); (got == turn) != tc.want {
				t.Errorf("overtaken is %v, want %v", got != nil, tc.want)
			}
		})
	}
}

// CV11: a long message waits for the next one of its sender, at most for its time, also behind a turn, and is seen to wait.
func TestCV11_ALongMessageWaitsForMoreOfIt(t *testing.T) {
	const wait = 1500 * time.Millisecond
	cut := strings.Repeat("x", Long)
	long := func(text string) Message {
		m := from("ann", text+cut, BusyQueue)
		m.Join = wait
		return m
	}
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, tb *Table) (begun *Turn)
		want string
	}{
		{"nothing follows", func(t *testing.T, tb *Table) *Turn {
			put(t, tb, long("a"))
			time.Sleep(wait - 1)
			if early := tb.Gathered(t.Context(), "chat:dm:1", false); early != nil {
				t.Error("it began too early")
			}
			time.Sleep(time.Nanosecond)
			return tb.Gathered(t.Context(), "chat:dm:1", false)
		}, "a" + cut},
		{"the end follows", func(t *testing.T, tb *Table) *Turn {
			put(t, tb, long("a"))
			time.Sleep(wait / 2)
			return put(t, tb, from("ann", "b", ""))
		}, "a" + cut + "\nb"},
		{"a long one follows, then the end", func(t *testing.T, tb *Table) *Turn {
			put(t, tb, long("a"))
			time.Sleep(wait / 2)
			put(t, tb, long("b"))
			time.Sleep(wait / 2)
			if early := tb.Gathered(t.Context(), "chat:dm:1", false); early != nil {
				t.Error("it did not wait for more of the second")
			}
			return put(t, tb, from("ann", "c", ""))
		}, "a" + cut + "\nb" + cut + "\nc"},
		{"it came behind a turn", func(t *testing.T, tb *Table) *Turn {
			first := put(t, tb, from("ann", "first", ""))
			put(t, tb, long("a"))
			if next, _ := tb.Release(t.Context(), first, End{State: ops.SessionIdle}); next != nil {
				t.Error("it began with the end of the turn")
			}
			time.Sleep(wait)
			return tb.Gathered(t.Context(), "chat:dm:1", false)
		}, "a" + cut},
		{"the gateway drains meanwhile", func(t *testing.T, tb *Table) *Turn {
			put(t, tb, long("a"))
			time.Sleep(wait)
			if held := tb.Gathered(t.Context(), "chat:dm:1", true); held != nil {
				t.Error("it began while none may")
			}
			return tb.Resume(t.Context())[0]
		}, "a" + cut},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := NewTable(Options{Bounds: Bounds{QueueLimit: 9}, NewID: counter()})
				if begun := tc.do(t, tb); begun == nil || begun.Message.Text != tc.want {
					t.Errorf("the turn is %+v, want one that reads %q", begun, tc.want)
				}
			})
		})
	}
	t.Run("it is seen, and can be withdrawn", func(t *testing.T) {
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 9}, NewID: counter()})
		put(t, tb, long("a"))
		if row, _ := tb.Row("chat:dm:1"); row.Queued != 1 || row.State != ops.SessionQueued || row.Doing != ops.DoingGather || row.DoingSince.IsZero() {
			t.Errorf("the row is %+v", row)
		}
		if m, found := tb.WithdrawWaiting("chat:dm:1"); !found || m.Text != "a"+cut {
			t.Errorf("withdrew %+v, %v", m, found)
		}
		if _, known := tb.Get("chat:dm:1"); known {
			t.Error("a session without a turn, a message or a row in the store is left")
		}
	})
}

// CV11: the choice of a conversation costs an idle session nothing, and ends with the conversation.
func TestCV11_AModeIsOfAConversation(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 9}, NewID: counter()})
	if s := tb.SetBusy("chat:dm:1", BusyInterrupt, from("ann", "/busy", "")); s.Busy != BusyInterrupt || s.User != "ann" {
		t.Fatalf("the session is %+v", s)
	}
	tb.Choose("chat:dm:1", "model", "model", Message{})
	if got := tb.Busy("chat:dm:1"); got != BusyInterrupt {
		t.Errorf("after a choice of a model it is %q", got)
	}
	tb.BeginReset("chat:dm:1")
	tb.EndReset(t.Context(), "chat:dm:1", false, false)
	if got := tb.Busy("chat:dm:1"); got != "" {
		t.Errorf("in the next conversation it is %q", got)
	}
	for name, want := range map[string]Busy{"queue": BusyQueue, "steer": BusySteer, "interrupt": BusyInterrupt, "": "", "other": ""} {
		if got := KnownBusy(name); got != want {
			t.Errorf("%s is the mode %q", fmt.Sprintf("%q", name), got)
		}
	}
}
