package views

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

func keysOf(snap ops.Snapshot, v View) []string { return Keys(&snap, v) }

func TestAFilterKeepsTheRowsThatMatch(t *testing.T) {
	const (
		maria, alice, stalled = "telegram:dm:4412", "api:user:alice", "telegram:group:-100123:topic:7"
		local, bob            = "cli:local", "api:user:bob"
	)
	for _, tc := range []struct {
		name, filter string
		want         []string
	}{
		{"an empty one keeps all", "  ", []string{bob, alice, local, maria, stalled}},
		{"a word is looked for in the key", "user", []string{bob, alice}},
		{"upper and lower case are alike", "ALICE", []string{alice}},
		{"a word is looked for in what a row does", "pytest", []string{maria}},
		{"a word is looked for in the state as it is shown", "stalled", []string{stalled}},
		{"a word is looked for in the state as the wire has it", "suspend", []string{bob}},
		{"a word of another script is found", "小龍", []string{stalled}},
		{"every word must match", "telegram 44", []string{maria}},
		{"a colon of a key is not a field", "telegram:dm", []string{maria}},
		{"a field looks at its column alone", "user:o", []string{bob, local}},
		{"a field's name may be in capitals", "STATE:idle", []string{local}},
		{"an exclamation mark takes the others", "!user", []string{local, maria, stalled}},
		{"a field can be turned round", "!state:running", []string{bob, local, stalled}},
		{"a tilde takes letters in their order", "~tgmdm", []string{maria}},
		{"a fuzzy field", "session:~gtop7", []string{stalled}},
		{"a fuzzy word turned round", "!~tgm", []string{bob, alice, local}},
		{"a word that is still being typed changes nothing", "!", []string{bob, alice, local, maria, stalled}},
		{"what is nowhere keeps none", "zebra", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := keysOf(Order(fiveRows(), Sessions, TableState{Filter: tc.filter, Sort: "session"}), Sessions)
			slices.Sort(got)
			slices.Sort(tc.want)
			if !slices.Equal(got, tc.want) {
				t.Fatalf("%q keeps %q, not %q", tc.filter, got, tc.want)
			}
		})
	}
}

func TestEventsAreFilteredLikeRows(t *testing.T) {
	events := []ops.Event{
		{Seq: 1, Type: ops.EventAdapterState, Subject: "feishu", Text: "retrying: token expired"},
		{Seq: 2, Type: ops.EventTurnStarted, Subject: "tg:1", Text: "turn started"},
		{Seq: 3, Type: ops.EventTurnEnded, Subject: "tg:2", Text: "turn ended"},
	}
	for filter, want := range map[string][]uint64{
		"": {1, 2, 3}, "turn": {2, 3}, "type:adapter": {1}, "!subject:tg": {1}, "~tnd text:ended": {3}, "zebra": nil,
	} {
		var got []uint64
		for _, e := range FilterEvents(events, filter) {
			got = append(got, e.Seq)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q keeps %v, not %v", filter, got, want)
		}
	}
}

func TestEveryListSortsByEveryColumnBothWays(t *testing.T) {
	for _, v := range []View{Sessions, Agents, Processes, Adapters} {
		columns := SortColumns(v)
		if !slices.Contains(columns, DefaultSort(v)) {
			t.Errorf("%s: the default %q is not one of %q", v, DefaultSort(v), columns)
		}
		for _, column := range columns {
			for _, reverse := range []bool{false, true} {
				for _, snap := range []ops.Snapshot{fiveRows(), nonsense(), {}} {
					got := Order(snap, v, TableState{Sort: column, Reverse: reverse})
					if Rows(&got, v) != Rows(&snap, v) {
						t.Errorf("%s by %s: %d rows of %d", v, column, Rows(&got, v), Rows(&snap, v))
					}
				}
			}
		}
	}
}

func TestOrderChangesNothingOfItsArgument(t *testing.T) {
	snap := fiveRows()
	want := keysOf(snap, Sessions)
	Order(snap, Sessions, TableState{Sort: "session", Filter: "user"})
	if got := keysOf(snap, Sessions); !slices.Equal(got, want) {
		t.Fatalf("the rows were %q and are %q", want, got)
	}
}

func TestSessionsThatNeedAttentionComeFirstThenRunningOnesByAge(t *testing.T) {
	got := keysOf(Order(fiveRows(), Sessions, TableState{}), Sessions)
	want := []string{"telegram:group:-100123:topic:7", "api:user:bob", "telegram:dm:4412", "api:user:alice", "cli:local"}
	if !slices.Equal(got, want) {
		t.Fatalf("the order is %q", got)
	}
}

func TestProcessesStandBelowTheirParents(t *testing.T) {
	snap := ops.Snapshot{Processes: []ops.Process{
		{PID: 30, PPID: 20, Session: "a"},
		{PID: 5, PPID: 40, Session: "b"}, // its parent is another session's
		{PID: 40, PPID: 1, Session: "a"},
		{PID: 20, PPID: 10, Session: "a"},
		{PID: 10, PPID: 1, Session: "a"},
		{PID: 25, PPID: 10, Session: "a"},
		{PID: 7, PPID: 8, Session: "c"}, // a circle
		{PID: 8, PPID: 7, Session: "c"},
		{PID: 9, PPID: 9, Session: "c"},
	}}
	got := Order(snap, Processes, TableState{}).Processes
	depth := depths(got, 0, len(got))
	var drawn []string
	for i, r := range got {
		drawn = append(drawn, fmt.Sprintf("%s%s%d", r.Session, strings.Repeat(">", depth[i]), r.PID))
	}
	want := []string{"a10", "a>20", "a>>30", "a>25", "a40", "b5", "c9", "c7", "c>8"}
	if !slices.Equal(drawn, want) {
		t.Fatalf("the trees are %q, not %q", drawn, want)
	}
	if part := depths(got, 2, 4); !slices.Equal(part, depth[2:4]) {
		t.Fatalf("seen through a window the depths are %v, not %v", part, depth[2:4])
	}
}

func someSessions(t *rapid.T) []ops.Session {
	states := []ops.SessionState{ops.SessionIdle, ops.SessionRunning, ops.SessionStalled, "frobbing", ""}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ops.Session {
		return ops.Session{
			Key:       rapid.StringMatching(`[a-c]{1,3}:[A-C0-9]{0,3}`).Draw(t, "key"),
			User:      rapid.String().Draw(t, "user"),
			State:     rapid.SampledFrom(states).Draw(t, "state"),
			Processes: rapid.IntRange(-1, 3).Draw(t, "processes"),
		}
	}), 0, 40).Draw(t, "rows")
}

func TestASortIsOneOrderAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := someSessions(t)
		by := rapid.SampledFrom(append(SortColumns(Sessions), "", "zebra")).Draw(t, "column")
		reverse := rapid.Bool().Draw(t, "reverse")
		state := TableState{Sort: by, Reverse: reverse}
		one := Order(ops.Snapshot{Sessions: rows}, Sessions, state)

		shuffled := rapid.Permutation(rows).Draw(t, "shuffled")
		other := Order(ops.Snapshot{Sessions: shuffled}, Sessions, state)
		if a, b := keysOf(one, Sessions), keysOf(other, Sessions); !slices.Equal(a, b) {
			t.Fatalf("by %q the order depends on where the rows were:\n%q\n%q", by, a, b)
		}
		column := sessionList.column(by)
		compare := column.compare
		if column.at != nil {
			compare = column.at(time.Time{})
		}
		for i := 1; i < len(one.Sessions); i++ {
			a, b := &one.Sessions[i-1], &one.Sessions[i]
			c := compare(a, b)
			if reverse {
				c = -c
			}
			if c > 0 || c == 0 && a.Key > b.Key {
				t.Fatalf("by %q row %q stands before %q", by, a.Key, b.Key)
			}
		}
		if len(one.Sessions) != len(rows) {
			t.Fatalf("%d rows of %d", len(one.Sessions), len(rows))
		}
	})
}

func TestAFilterAndItsInverseShareTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := someSessions(t)
		word := rapid.StringMatching(`~?[a-cA-C0-9]{1,3}`).Draw(t, "word")
		in := Order(ops.Snapshot{Sessions: rows}, Sessions, TableState{Filter: word})
		out := Order(ops.Snapshot{Sessions: rows}, Sessions, TableState{Filter: "!" + word})
		if n := len(in.Sessions) + len(out.Sessions); n != len(rows) {
			t.Fatalf("%q keeps %d rows and !%q %d, of %d", word, len(in.Sessions), word, len(out.Sessions), len(rows))
		}
	})
}

func TestTreesKeepEveryProcessOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ops.Process {
			return ops.Process{
				PID: rapid.IntRange(0, 9).Draw(t, "pid"), PPID: rapid.IntRange(0, 9).Draw(t, "ppid"),
				Session: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "session"),
			}
		}), 0, 20).Draw(t, "rows")
		got := Order(ops.Snapshot{Processes: rows}, Processes, TableState{}).Processes
		count := func(rows []ops.Process) map[ops.Process]int {
			n := map[ops.Process]int{}
			for _, r := range rows {
				n[r]++
			}
			return n
		}
		if a, b := fmt.Sprint(count(rows)), fmt.Sprint(count(got)); a != b {
			t.Fatalf("the rows were %s and are %s", a, b)
		}
		depth := depths(got, 0, len(got))
		for i := range got {
			if len(depth) != len(got) || depth[i] > i {
				t.Fatalf("the depths of %v are %v", got, depth)
			}
		}
	})
}

// Places keep rows where they are: only what needs attention moves, and no row is lost.
func TestRowsWithAPlaceKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ops.Session {
			r := ops.Session{
				Key:            rapid.StringMatching(`[a-e]{1,3}`).Draw(t, "key"),
				LastActivityAt: before(time.Duration(rapid.IntRange(0, 20).Draw(t, "last")) * time.Second),
				State:          rapid.SampledFrom([]ops.SessionState{ops.SessionIdle, ops.SessionRunning, ops.SessionStalled}).Draw(t, "state"),
			}
			if r.State != ops.SessionIdle {
				r.Turn, r.TurnStartedAt, r.LastProgressAt = "t", r.LastActivityAt, r.LastActivityAt
			}
			return r
		}), 0, 30, func(r ops.Session) string { return r.Key }).Draw(t, "rows")
		shuffled := rapid.Permutation(rows).Draw(t, "before")
		places := map[string]int{}
		for i, r := range shuffled[:rapid.IntRange(0, len(rows)).Draw(t, "known")] {
			places[r.Key] = i
		}
		got := Order(ops.Snapshot{At: ops.At(noon), Sessions: rows}, Sessions, TableState{Places: places}).Sessions
		if len(got) != len(rows) {
			t.Fatalf("%d rows of %d", len(got), len(rows))
		}
		last, calm := -1, false
		for _, r := range got {
			if urgent := r.NeedsAttention(noon); urgent {
				if calm {
					t.Fatalf("%s needs attention and stands below one that does not", r.Key)
				}
				continue
			}
			calm = true
			if place, known := places[r.Key]; known {
				if place < last {
					t.Fatalf("%s had place %d and stands after place %d", r.Key, place, last)
				}
				last = place
			}
		}
	})
}

// What a badge says can be typed: a filter finds a row by the word under which its state is shown, in every list.
func TestAStateIsFoundByItsBadge(t *testing.T) {
	snap := ops.Snapshot{}
	for _, b := range sessionBadges {
		snap.Sessions = append(snap.Sessions, ops.Session{Key: b.word, State: b.state})
	}
	for _, b := range agentBadges {
		snap.Agents = append(snap.Agents, ops.Agent{Session: b.word, State: b.state})
	}
	for _, b := range processBadges {
		snap.Processes = append(snap.Processes, ops.Process{Command: b.word, State: b.state})
	}
	for _, b := range adapterBadges {
		snap.Adapters = append(snap.Adapters, ops.Adapter{Name: b.word, State: b.state})
	}
	find := func(v View, word string) ops.Snapshot {
		return Order(snap, v, TableState{Filter: "state:" + filter.Quote(word)})
	}
	for _, r := range snap.Sessions {
		if got := find(Sessions, r.Key).Sessions; !slices.ContainsFunc(got, func(g ops.Session) bool { return g.State == r.State }) {
			t.Errorf("the session state %s is not found by its badge %q", r.State, r.Key)
		}
	}
	for _, r := range snap.Agents {
		if got := find(Agents, r.Session).Agents; !slices.ContainsFunc(got, func(g ops.Agent) bool { return g.State == r.State }) {
			t.Errorf("the agent state %s is not found by its badge %q", r.State, r.Session)
		}
	}
	for _, r := range snap.Processes {
		if got := find(Processes, r.Command).Processes; !slices.ContainsFunc(got, func(g ops.Process) bool { return g.State == r.State }) {
			t.Errorf("the process state %s is not found by its badge %q", r.State, r.Command)
		}
	}
	for _, r := range snap.Adapters {
		if got := find(Adapters, r.Name).Adapters; !slices.ContainsFunc(got, func(g ops.Adapter) bool { return g.State == r.State }) {
			t.Errorf("the adapter state %s is not found by its badge %q", r.State, r.Name)
		}
	}
}

// A filter that names a column that there is not shows no rows, and says why and which column is near.
func TestAWrongFilterSaysWhatIsWrong(t *testing.T) {
	snap := fiveRows()
	s := screen(Sessions, snap)
	s.W, s.H = 120, 24
	s.Table.Filter, s.Table.Total = "stat:running", len(snap.Sessions)
	s.Snap = Order(snap, Sessions, s.Table)
	if text := strings.Join(Draw(s), "\n"); !strings.Contains(text, "unknown filter key \"stat\"") || !strings.Contains(text, "state:") {
		t.Fatalf("the view says\n%s", text)
	}
}
