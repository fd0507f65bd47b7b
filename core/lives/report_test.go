package lives

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

const fakeLife = "01LIFE"

// ownReport is the report of a stop in which one adapter did not end in time.
func ownReport() ops.Shutdown {
	at := ops.At(time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond))
	return ops.Shutdown{
		ID: "x1", Life: fakeLife, Mode: ops.ModeGraceful, Reason: "deploy", By: "uid 0", StartedAt: at, DeadlineAt: at, EndedAt: at, ElapsedMS: 5_004,
		Outcome: ops.ShutdownIncomplete,
		Phases: []ops.Phase{
			{Name: "mark", State: ops.StepDone, ElapsedMS: 3, BudgetMS: 500, Items: []ops.Item{}},
			{Name: "adapters", State: ops.StepTimedOut, ElapsedMS: 5_000, BudgetMS: 5_000, Items: []ops.Item{
				{Kind: "adapter", ID: "telegram", State: ops.StepTimedOut, ElapsedMS: 5_000, BudgetMS: 5_000, Detail: "disconnect"},
			}},
		},
	}
}

// reports is a dumps folder in a home of its own, with the report of fakeLife as it was written.
func reports(t *testing.T) (f Files, home *instance.Home, text string) {
	t.Helper()
	home, err := instance.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f = Files{Dir: home.Dumps(), Life: fakeLife, Quarantine: home.Quarantine}
	if err := f.SaveReport(ownReport()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.reportPath(fakeLife))
	if err != nil {
		t.Fatal(err)
	}
	return f, home, string(b)
}

// A report that is cut off at any byte, or is invalid, is not read: it is named, and kept as it was.
func TestAnInvalidReportIsQuarantined(t *testing.T) {
	_, _, text := reports(t)
	change := func(from, to string) string {
		changed := strings.Replace(text, from, to, 1)
		if changed == text {
			t.Fatalf("the report does not hold %s", from)
		}
		return changed
	}
	cases := map[string]string{
		"an empty file": "", "garbage": "\x00\xff{", "null": "null", "a list": "[]", "an empty object": "{}", "two of them": text + text,
		"another life's":         change(fakeLife, "another"),
		"an unknown outcome":     change(`"outcome": "`, `"outcome": "un`),
		"an unknown mode":        change(`"mode": "`, `"mode": "un`),
		"a phase in no state":    change(`"state": "done"`, `"state": "perhaps"`),
		"a phase of less than 0": change(`"budget_ms": `, `"budget_ms": -`),
		"an invalid time":        change(`"started_at": "2`, `"started_at": "x`),
	}
	whole := strings.TrimSpace(text)
	for i := range len(whole) {
		cases["the first bytes up to "+whole[max(0, i-20):i]+" at "+string(rune('a'+i%26))] = text[:i]
	}
	if len(cases) < len(whole)/2 {
		t.Fatalf("only %d cases for %d bytes", len(cases), len(whole))
	}
	f, home, _ := reports(t)
	for name, text := range cases {
		if err := os.WriteFile(f.reportPath(fakeLife), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, found, err := f.ReadReport(fakeLife); found || err == nil {
			t.Fatalf("%s: who only looks finds a report: %v, %v", name, found, err)
		}
		r, found, err := f.LastReport(fakeLife)
		if r.ID != "" || !found || err == nil || !strings.Contains(err.Error(), "shutdown-"+fakeLife) {
			t.Fatalf("%s: it is %+v, %v, %v", name, r, found, err)
		}
		all := home.Quarantined()
		kept, err := os.ReadFile(all[len(all)-1].Kept)
		if err != nil || string(kept) != text {
			t.Fatalf("%s: kept is %q, %v", name, kept, err)
		}
		if _, found, err := f.LastReport(fakeLife); found || err != nil {
			t.Fatalf("%s: the next look finds %v, %v", name, found, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(home.Dir(), "aside")); err != nil || len(entries) > 40 {
		t.Errorf("%d files are kept, %v", len(entries), err)
	}
}

func TestAReportIsReadAsItWasWritten(t *testing.T) {
	f, home, _ := reports(t)
	r, found, err := f.LastReport(fakeLife)
	if err != nil || !found || r.ID != ownReport().ID || len(r.Phases) != len(ownReport().Phases) || len(home.Quarantined()) > 0 {
		t.Errorf("it is %+v, %v, %v", r, found, err)
	}
	if _, found, err := f.LastReport("no such life"); found || err != nil {
		t.Errorf("a life without one has %v, %v", found, err)
	}
}

func FuzzParseReport(f *testing.F) {
	whole, err := json.Marshal(ownReport())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "{}", "null", "[]", string(whole), string(whole[:len(whole)/2]), `{"life":"` + fakeLife + `","phases":[{}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseReport(b, fakeLife)
		if err != nil {
			if r.ID != "" || len(r.Phases) > 0 {
				t.Fatalf("an error and %+v", r)
			}
			return
		}
		if r.Life != fakeLife || len(r.Phases) == 0 || r.Outcome != ops.ShutdownRunning && r.EndedAt.IsZero() {
			t.Fatalf("%+v is taken", r)
		}
		if again, err := json.Marshal(r); err != nil {
			t.Fatalf("what is taken cannot be written: %v", err)
		} else if back, err := parseReport(again, fakeLife); err != nil || back.Outcome != r.Outcome {
			t.Fatalf("it comes back as %+v, %v", back, err)
		}
	})
}
