package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

func TestALifeIsReadAsItWasWritten(t *testing.T) {
	s := open(t, t.TempDir())
	if l, found, err := s.LastLife(t.Context()); found || err != nil {
		t.Fatalf("on an empty home the last life is %+v, %v", l, err)
	}
	first := Life{
		ID: "l1", PID: 7, StartTicks: 1<<63 + 5, BootID: "boot", Version: "v1", StartedAt: noon,
		HeartbeatAt: noon.Add(time.Second), Outcome: ops.OutcomeRunning,
	}
	second := Life{ID: "l2", PID: 8, StartedAt: noon.Add(-time.Hour), Outcome: ops.OutcomeRunning} // its clock went back
	ended := first
	ended.Outcome, ended.Phase, ended.Reason, ended.By, ended.EndedAt = ops.OutcomeCutShort, "adapters", "update", "uid 0", noon.Add(time.Minute)
	for _, l := range []Life{first, second, ended} {
		if err := s.PutLife(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	last, found, err := s.LastLife(t.Context())
	if diff := cmp.Diff(second, last); diff != "" || !found || err != nil {
		t.Errorf("the last life is another (%v, %v; -written +read):\n%s", found, err, diff)
	}
	lives, next, err := s.Lives(t.Context(), 0, "")
	if diff := cmp.Diff([]Life{second, ended}, lives); diff != "" || next != "" || err != nil {
		t.Errorf("the lives are others (next %q, %v; -written +read):\n%s", next, err, diff)
	}
}

func TestAHeartbeatChangesOnlyALifeThatRuns(t *testing.T) {
	s := open(t, t.TempDir())
	mustWrite(t, s, "l1")
	over := Life{ID: "l0", Outcome: ops.OutcomeClean, HeartbeatAt: noon}
	if err := s.PutLife(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"l0", "l1", "never written"} {
		if err := s.Heartbeat(t.Context(), id, noon.Add(time.Minute), 42<<20); err != nil {
			t.Fatal(err)
		}
	}
	lives, _, err := s.Lives(t.Context(), 0, "")
	want := []Life{over, {ID: "l1", Outcome: ops.OutcomeRunning, HeartbeatAt: noon.Add(time.Minute), RSS: 42 << 20}}
	if diff := cmp.Diff(want, lives); diff != "" || err != nil {
		t.Errorf("%v (-want +read):\n%s", err, diff)
	}
}

func TestPagesOfLivesHoldEachLifeOnceWhileMoreAreWritten(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range 25 {
		mustWrite(t, s, fmt.Sprint(i))
	}
	var got []string
	for cursor, pages := "", 0; ; pages++ {
		lives, next, err := s.Lives(t.Context(), 10, cursor)
		if err != nil || len(lives) > 10 {
			t.Fatal(len(lives), err)
		}
		for _, l := range lives {
			got = append(got, l.ID)
		}
		mustWrite(t, s, fmt.Sprint("later ", pages))
		if cursor = next; cursor == "" {
			break
		}
	}
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprint(24-i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +read):\n%s", diff)
	}
	if _, _, err := s.Lives(t.Context(), 10, "x'); DROP TABLE lives"); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("an invalid cursor was answered %v", err)
	}
}

func TestAnAuditRowKeepsWhoAskedForWhat(t *testing.T) {
	s := open(t, t.TempDir())
	asked := Audit{
		ID: "r1", At: noon, Verb: "stop", Target: "t", Via: "socket", UID: 1000, PID: 4, TTY: "pts/1", User: "alice",
		Tool: true, Session: "api:user:bob", Reason: "update", State: "accepted", Detail: "draining",
	}
	forged := Audit{ID: "r1", Verb: "kill", UID: 0, User: "mallory", State: "done", Detail: "stopped"}
	other := Audit{ID: "r2", At: noon, Verb: "drain", State: "done"}
	for _, a := range []Audit{asked, other, forged} {
		if err := s.PutAudit(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	asked.State, asked.Detail = "done", "stopped"
	rows, err := list[Audit](t.Context(), s, "read audit", `SELECT `+auditColumns+` FROM audit ORDER BY seq DESC`)
	if diff := cmp.Diff([]Audit{other, asked}, rows); diff != "" || err != nil {
		t.Errorf("%v (-want +read):\n%s", err, diff)
	}
}

func TestAShutdownsReportIsReadAsItWasWrittenLast(t *testing.T) {
	s := open(t, t.TempDir())
	if _, found, err := s.LastShutdown(t.Context()); found || err != nil {
		t.Fatalf("on an empty home there is a shutdown (%v)", err)
	}
	report := ops.Shutdown{ID: "s1", Life: "l1", Mode: ops.ModeGraceful, Phases: []ops.Phase{{Name: "mark", State: ops.StepRunning}}}
	for _, sd := range []ops.Shutdown{report, {ID: "s2", Life: "l2"}} {
		if err := s.SaveShutdown(t.Context(), sd); err != nil {
			t.Fatal(err)
		}
	}
	report.Phases[0].State = ops.StepDone
	if err := s.SaveShutdown(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	got, found, err := s.ShutdownOf(t.Context(), "l1")
	if diff := cmp.Diff(report, got); diff != "" || !found || err != nil {
		t.Errorf("%v, %v (-written +read):\n%s", found, err, diff)
	}
	if got, found, err := s.LastShutdown(t.Context()); got.ID != "s2" || !found || err != nil {
		t.Errorf("the last shutdown is %+v, %v, %v", got, found, err)
	}
	if _, found, err := s.ShutdownOf(t.Context(), "l3"); found || err != nil {
		t.Errorf("a life without a stop has one (%v)", err)
	}
}

func TestTheJournalNamesWhatMayStillLive(t *testing.T) {
	s := open(t, t.TempDir())
	tree := func(life string, pid int, ticks uint64) Process {
		return Process{
			Life: life, PID: pid, StartTicks: ticks, BootID: "boot", Session: "s1", Command: "sleep 60", Policy: "session",
			StartedAt: noon.Add(time.Duration(ticks) * time.Second),
		}
	}
	// One pid in three incarnations: only life, pid and start ticks together are a name.
	for _, p := range []Process{tree("l1", 7, 3), tree("l1", 7, 1), tree("l2", 7, 2)} {
		if err := s.RecordProcesses(t.Context(), []Process{p}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.RecordProcesses(t.Context(), []Process{{Life: "l1", PID: 7, StartTicks: 1, EndedAt: noon, How: "exit 0"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RecordProcesses(t.Context(), []Process{{Life: "l9", PID: 9, StartTicks: 9, EndedAt: noon, How: "never written"}}); err != nil {
		t.Fatal(err)
	}
	live, err := s.LiveProcesses(t.Context())
	if diff := cmp.Diff([]Process{tree("l2", 7, 2), tree("l1", 7, 3)}, live); diff != "" || err != nil {
		t.Errorf("%v (-want +read):\n%s", err, diff)
	}
}

// D8, D10: what a turn writes after it ended, or after its session did, is dropped.
func TestWritesOfATurnThatNoLongerRunsAreDropped(t *testing.T) {
	answer := []Message{{Role: "assistant", Content: "late", At: noon}}
	for name, end := range map[string]func(s *Store, v Session, turn Turn) error{
		"it ended": func(s *Store, v Session, turn Turn) error {
			turn.State, turn.EndedAt = TurnDone, noon
			return s.EndTurn(t.Context(), v, turn, nil)
		},
		"its session was reset":         func(s *Store, v Session, _ Turn) error { return s.EndSession(t.Context(), v.ID, noon, "reset") },
		"another turn took its session": func(s *Store, v Session, _ Turn) error { begun(t, s, v, "t2"); return nil },
		"the gateway began again": func(s *Store, _ Session, _ Turn) error {
			_, err := s.InterruptRunning(t.Context(), "crash", true, noon)
			return err
		},
		"its session was reset and resumed": func(s *Store, v Session, _ Turn) error {
			if err := s.EndSession(t.Context(), v.ID, noon, "reset"); err != nil {
				return err
			}
			_, err := s.ReopenSession(t.Context(), "", v.ID, noon)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			v := session("cli:local", "s1")
			turn := begun(t, s, v, "t1")
			if err := end(s, v, turn); err != nil {
				t.Fatal(err)
			}
			before, err := s.Since(t.Context(), v.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.AppendMessages(t.Context(), v.ID, turn.ID, answer, nil); !errors.Is(err, ErrStaleTurn) {
				t.Errorf("a late message was answered %v", err)
			}
			turn.State, turn.EndedAt = TurnDone, noon
			late := v
			late.TokensIn = 1_000_000
			if err := s.EndTurn(t.Context(), late, turn, answer); !errors.Is(err, ErrStaleTurn) {
				t.Errorf("a late end was answered %v", err)
			}
			after, err := s.Since(t.Context(), v.ID, 0)
			if diff := cmp.Diff(contents(before), contents(after)); diff != "" || err != nil {
				t.Errorf("the transcript changed (%v): %s", err, diff)
			}
			if _, err := s.Sessions(t.Context(), func(v Session) error {
				if v.TokensIn == late.TokensIn {
					t.Error("the late end changed the session")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestATurnCannotEndAsRunning(t *testing.T) {
	s := open(t, t.TempDir())
	v := session("cli:local", "s1")
	turn := begun(t, s, v, "t1")
	if err := s.EndTurn(t.Context(), v, turn, nil); err == nil {
		t.Error("it did")
	}
	if n, err := s.MarkStop(t.Context(), Life{ID: "l1", StartedAt: noon, Outcome: ops.OutcomeRunning}, Audit{ID: "a1", At: noon}, noon); n != 1 || err != nil {
		t.Errorf("%d turns run (%v), want 1", n, err)
	}
}

// S18, D2: the first write of a stop. A marked turn goes on and may end as done.
func TestS18_ATurnMarkedAsPossiblyInterruptedMayStillEndAsDone(t *testing.T) {
	s := open(t, t.TempDir())
	v := session("cli:local", "s1")
	turn := begun(t, s, v, "t1")
	begun(t, s, session("cli:other", "s2"), "t2")
	if n, err := s.MarkStop(t.Context(), Life{ID: "l1", StartedAt: noon, Outcome: ops.OutcomeRunning}, Audit{ID: "a1", At: noon}, noon); n != 2 || err != nil {
		t.Fatalf("%d turns marked (%v), 2 run", n, err)
	}
	turn.State, turn.EndedAt = TurnDone, noon
	if err := s.EndTurn(t.Context(), v, turn, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := s.InterruptRunning(t.Context(), "crash", true, noon); n != 1 || err != nil {
		t.Errorf("D14: %d turns were left running (%v), want the other one", n, err)
	}
	states := map[string]ops.SessionState{}
	if _, err := s.Sessions(t.Context(), func(v Session) error { states[v.ID] = v.State; return nil }); err != nil {
		t.Fatal(err)
	}
	want := map[string]ops.SessionState{"s1": ops.SessionIdle, "s2": ops.SessionInterrupted}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +read):\n%s", diff)
	}
}

func TestHF1_ASessionKeepsItsCaller(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	defer shut(t, s)
	for i, want := range []ops.Caller{{}, {UID: 0, By: ops.ByKernel}, {UID: 1000, By: ops.ByKey}, {UID: -1, By: ops.ByKey}} {
		v := Session{Key: "api:user:alice", ID: "s0", Platform: "api", State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon, Caller: want}
		begun(t, s, v, fmt.Sprint(i))
		if got, found, err := s.CurrentSession(ctx, v.Key); err != nil || !found || got.Caller != want {
			t.Errorf("%d: %+v, %t, %v; want %+v", i, got.Caller, found, err, want)
		}
	}
}
