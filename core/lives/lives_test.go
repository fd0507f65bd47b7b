package lives

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

var start = time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)

func life(n int, outcome ops.Outcome) ops.Life {
	at := ops.At(start.Add(time.Duration(n) * time.Minute))
	return ops.Life{Life: fmt.Sprintf("LIFE%04d", n), PID: 100 + n, StartedAt: at, LastSeenAt: at, Outcome: outcome}
}

func TestTheListKeepsTheNewestLivesForReadersWithoutAGateway(t *testing.T) {
	dumps := t.TempDir()
	l := Files{Dir: dumps}.List()
	for n := range Kept + 20 {
		if err := l.Put(life(n, ops.OutcomeRunning)); err != nil {
			t.Fatal(err)
		}
		ended := life(n, ops.OutcomeClean)
		ended.Reason, ended.Shutdown = "deploy", &ops.Shutdown{ID: "x"}
		if err := l.Put(ended); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := Read(dumps)
	if err != nil || len(rows) != Kept {
		t.Fatalf("it holds %d rows, %v", len(rows), err)
	}
	if r := rows[0]; r.Life != "LIFE0119" || r.Outcome != ops.OutcomeClean || r.Reason != "deploy" || r.Shutdown != nil {
		t.Errorf("the newest row is %+v", r)
	}
	if r := rows[Kept-1]; r.Life != "LIFE0020" {
		t.Errorf("the oldest row is %+v", r)
	}
	fi, err := os.Stat(filepath.Join(dumps, File))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", fi.Mode(), err)
	}
	again := Files{Dir: dumps}.List()
	if got := again.Seen("LIFE0119"); !got.Equal(rows[0].LastSeenAt.Time) {
		t.Errorf("the life was last seen at %v", got)
	}
	if got := again.Seen("LIFE0001"); !got.IsZero() {
		t.Errorf("a life that was cut was seen at %v", got)
	}
}

func TestALongReasonIsReadBack(t *testing.T) {
	dumps := t.TempDir()
	l := Files{Dir: dumps}.List()
	row := life(1, ops.OutcomeClean)
	row.Reason = strings.Repeat("ö", 1<<20)
	if err := l.Put(row); err != nil {
		t.Fatal(err)
	}
	if rows, err := Read(dumps); err != nil || len(rows) != 1 || len(rows[0].Reason) == 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestAFileThatIsNotAListIsAnErrorAndTheNextPutReplacesIt(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"an empty file", ""},
		{"half a file", `[{"life":"A","outcome":"cle`},
		{"an object", `{"lives":[]}`},
		{"a row of something else", `[{"name":"x"}]`},
		{"an outcome that no life has", `[{"life":"A","outcome":"fine"}]`},
		{"an id that is a path", `[{"life":"../../etc/passwd","outcome":"clean"}]`},
		{"one life twice", `[{"life":"A","outcome":"clean"},{"life":"A","outcome":"crashed"}]`},
		{"a negative pid", `[{"life":"A","pid":-1,"outcome":"clean"}]`},
		{"a file that is too large", "[" + strings.Repeat(" ", maxFile) + "]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dumps := t.TempDir()
			if err := os.WriteFile(filepath.Join(dumps, File), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if rows, err := Read(dumps); err == nil {
				t.Fatalf("it reads as %+v", rows)
			}
			var said error
			l := Files{Dir: dumps, Quarantine: func(_ string, why error) instance.Quarantined { said = why; return instance.Quarantined{} }}.List()
			if said == nil {
				t.Fatal("List does not say so")
			}
			if err := l.Put(life(1, ops.OutcomeRunning)); err != nil {
				t.Fatal(err)
			}
			if rows, err := Read(dumps); err != nil || len(rows) != 1 {
				t.Errorf("after the next life it holds %+v, %v", rows, err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	text, err := json.Marshal([]ops.Life{life(2, ops.OutcomeRunning), life(1, ops.OutcomeCrashed)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`[{"life":"A","started_at":"2026-11-21T22:00:00Z","outcome":"clean","shutdown":{"phases":[{}]}}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := parse(text)
		if err != nil {
			return
		}
		if len(rows) > Kept {
			t.Fatalf("%d rows", len(rows))
		}
		for _, r := range rows {
			if r.Shutdown != nil || filepath.Base(r.Life) != r.Life {
				t.Fatalf("%+v", r)
			}
		}
		dumps := t.TempDir()
		l := &List{path: filepath.Join(dumps, File)}
		if err := l.Put(rows...); err != nil {
			t.Skip("runs for times that JSON can hold: ", err)
		}
		again, err := Read(dumps)
		if err != nil || len(again) != len(rows) {
			t.Fatalf("%d rows are read back as %d: %v", len(rows), len(again), err)
		}
	})
}
