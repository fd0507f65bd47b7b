package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSessionsAreOrderedByWhatNeedsAttention(t *testing.T) {
	at := func(s int) Time { return At(time.Date(2026, 11, 22, 1, 0, s, 0, time.UTC)) }
	want := []Session{
		{Key: "stalled, the older turn", State: SessionStalled, TurnStartedAt: at(1), LastActivityAt: at(50)},
		{Key: "asks, the newer turn", State: SessionWaitingApproval, TurnStartedAt: at(2), LastActivityAt: at(2)},
		{Key: "loops since then, idle now", State: SessionIdle, Attention: AttentionLooping, AttentionSince: at(3), LastActivityAt: at(59)},
		{Key: "loops, its turn began later", State: SessionRunning, Attention: AttentionLooping, AttentionSince: at(4), TurnStartedAt: at(50)},
		{Key: "suspended, without a turn", State: SessionSuspended, LastActivityAt: at(0)},
		{Key: "running for long", State: SessionRunning, TurnStartedAt: at(3), LastActivityAt: at(3)},
		{Key: "running a", State: SessionRunning, TurnStartedAt: at(4), LastActivityAt: at(59)},
		{Key: "running b, the same start", State: SessionRunning, TurnStartedAt: at(4), LastActivityAt: at(5)},
		{Key: "of a state of a later version", State: "thinking", TurnStartedAt: at(5)},
		{Key: "messages wait, no turn runs", State: SessionQueued, LastActivityAt: at(40)},
		{Key: "idle, active just now", State: SessionIdle, LastActivityAt: at(58)},
		{Key: "interrupted, active before", State: SessionInterrupted, LastActivityAt: at(57)},
		{Key: "idle, active long ago", State: SessionIdle, LastActivityAt: at(1)},
		{Key: "idle, never active", State: SessionIdle},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b Session) int { return CompareSessions(&a, &b) })
	names := func(rows []Session) string {
		var b strings.Builder
		for _, r := range rows {
			b.WriteString("\n  " + r.Key)
		}
		return b.String()
	}
	if names(got) != names(want) {
		t.Fatalf("ordered as%s\nwant%s", names(got), names(want))
	}
}

func TestWhatARunningTurnDoesMovesNoRow(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	a := Session{Key: "a", State: SessionRunning, TurnStartedAt: At(at), LastActivityAt: At(at)}
	b := Session{Key: "b", State: SessionRunning, TurnStartedAt: At(at.Add(time.Second)), LastActivityAt: At(at)}
	for i := range 100 {
		b.LastActivityAt = At(at.Add(time.Duration(i) * time.Minute))
		a.LastProgressAt, b.LastProgressAt = b.LastActivityAt, a.LastActivityAt
		if CompareSessions(&a, &b) >= 0 {
			t.Fatalf("b passed a after %d steps of progress", i)
		}
	}
}

// A state that is not listed would be left out by a filter for it.
func TestEverySessionStateIsListed(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "rows.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(f, func(n ast.Node) bool {
		v, is := n.(*ast.ValueSpec)
		if !is || len(v.Values) != 1 {
			return true
		}
		kind, is := v.Type.(*ast.Ident)
		text, literal := v.Values[0].(*ast.BasicLit)
		if !is || !literal || kind.Name != "SessionState" {
			return true
		}
		declared++
		if state := SessionState(strings.Trim(text.Value, `"`)); !slices.Contains(SessionStates, state) {
			t.Errorf("%s is not in SessionStates", state)
		}
		return true
	})
	if declared != len(SessionStates) {
		t.Errorf("%d states are declared and %d listed", declared, len(SessionStates))
	}
}
