package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

func TestHR9_ACommandReadsTheEventAndIsATrackedProcess(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	procs := registry(t, nil)
	w := begin(t, procs, Spec{Name: "a", On: []string{"session.turn.ended"}, Command: []string{script(t, `cat > "$1.new"; mv "$1.new" "$1"; sleep 30`), out}, Timeout: time.Minute})
	w.emit(1)
	eventually.True(t, "the command has read the event", func() bool { text, _ := os.ReadFile(out); return strings.Contains(string(text), `"subject":"cli:0"`) })
	rows := procs.Rows()
	if len(rows) != 1 || rows[0].Owner != Owner || rows[0].Policy != ops.PolicyGateway || rows[0].Session != "" {
		t.Errorf("the processes are %+v", rows)
	}
	w.close()
	if n := procs.Count(); n != 0 {
		t.Errorf("%d trees outlive the close", n)
	}
}

func TestHR9_AHostileCommandEndsWithItsTime(t *testing.T) {
	for _, tc := range []struct{ name, script, why string }{
		{"it ignores TERM", `trap '' TERM; while :; do sleep 1; done`, "it took longer than 300ms and was ended"},
		{"it floods its output", `while :; do echo flood flood flood flood; done`, "it took longer than 300ms"},
		{"it never reads its input", `sleep 60`, "it took longer than 300ms"},
		{"it leaves a process behind", `setsid sleep 60 & exit 0`, ""},
		{"it leaves a process that holds its output", `sleep 60 & exit 3`, "it ended with exit code 3"},
		{"it fails with a reason", `echo no display >&2; exit 4`, "it ended with exit code 4: no display"},
		{"it kills itself", `kill -9 $$`, "it ended by signal 9 (killed)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			procs := registry(t, nil)
			w := begin(t, procs, Spec{Name: "a", On: []string{"*"}, Command: []string{script(t, tc.script)}, Timeout: 300 * time.Millisecond})
			// Larger than a pipe, so that a program that does not read it blocks the write.
			w.hub.Emit(ops.EventWarning, "x", strings.Repeat("x", 200<<10), nil)
			want := "0 handled, 1 failed"
			if tc.why == "" {
				want = "1 handled, 0 failed"
			}
			eventually.True(t, "its event is over", func() bool { return strings.HasPrefix(w.row("a").Detail, want) })
			if got := w.row("a").Detail; !strings.Contains(got, tc.why) {
				t.Errorf("the row says %q, want %q", got, tc.why)
			}
			eventually.True(t, "nothing of it is left", func() bool { return procs.Count() == 0 })
		})
	}
}

func TestHR9_AHookOnProcessesDoesNotRunForItsOwn(t *testing.T) {
	var w *world
	procs := registry(t, func(typ ops.EventType, row ops.Process) {
		if w != nil {
			w.hub.Emit(typ, "x", "", ops.ProcessChange{Owner: row.Owner, PID: row.PID})
		}
	})
	w = begin(t, procs, Spec{Name: "a", On: []string{"process.*"}, Command: []string{"true"}, Timeout: time.Minute})
	for n := 1; n <= 3; n++ {
		w.hub.Emit(ops.EventProcessExited, "7", "ended", ops.ProcessChange{Owner: "tool", PID: 7})
		eventually.True(t, "it is handled", func() bool {
			return strings.HasPrefix(w.row("a").Detail, []string{"", "1", "2", "3"}[n]+" handled, 0 failed, 0 dropped")
		})
	}
	if n := w.hub.Newest(); n < 9 || n > 12 {
		t.Errorf("three events became %d", n)
	}
	if row := w.row("a"); strings.Contains(row.Detail, "waiting") {
		t.Errorf("the row says %q", row.Detail)
	}
}

func TestACommandThatIsNotThereSaysSo(t *testing.T) {
	w := begin(t, registry(t, nil), Spec{Name: "a", On: []string{"*"}, Command: []string{"/none/of/this"}, Timeout: time.Minute})
	w.emit(1)
	eventually.True(t, "the row says so", func() bool { return strings.Contains(w.row("a").Detail, "no such file") })
}
