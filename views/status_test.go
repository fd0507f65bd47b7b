package views

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gatewaytui/core/ops"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func someStatus() ops.Status {
	return ops.Status{
		PID: 4121, Version: "v0.1.0", State: ops.StateRunning, StartedAt: ops.At(began),
		Counts: ops.Counts{
			Sessions: 12, RunningTurns: 3, CachedAgents: 7, Processes: 9, AdaptersConnected: 4, Adapters: 5,
		},
		Warnings: []ops.Warning{{Code: "needs_credentials"}},
	}
}

func TestTheHeaderLooksAsReviewed(t *testing.T) {
	for _, width := range []int{80, 140} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var b strings.Builder
			for _, age := range []time.Duration{0, 59 * time.Minute, 3*24*time.Hour + 4*time.Hour + 12*time.Minute} {
				fmt.Fprintln(&b, ansi.Strip(Status(someStatus(), width, began.Add(age))))
			}
			fmt.Fprintln(&b, ansi.Strip(Status(ops.Status{}, width, began)))

			file := filepath.Join("testdata", fmt.Sprintf("status-%d.golden", width))
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Fatalf("the header changed (go test ./views -update writes it anew; -reviewed +drawn):\n%s", diff)
			}
		})
	}
}

func TestAClockThatWentBackNeverShowsANegativeAge(t *testing.T) {
	if got := Status(someStatus(), 200, began.Add(-time.Hour)); !strings.Contains(got, "up 00:00:00") {
		t.Fatalf("drawn: %q", got)
	}
}

func FuzzTheHeaderFitsAndCarriesNothingThatActsOnATerminal(f *testing.F) {
	f.Add("running", "v1\x1b]0;title\x07", 80)
	f.Add("\u202egnippots", "0\ufe0f00000", 9)
	f.Add("", "\n\r\t\u009b31m", 1)
	f.Add("界界界", "界", 14)
	f.Fuzz(func(t *testing.T, state, version string, width int) {
		st := someStatus()
		st.State, st.Version = ops.State(state), version
		width %= 300
		got := Status(st, width, began)
		if w := ansi.StringWidth(got); w > max(width, 0) {
			t.Fatalf("%d cells in a width of %d: %q", w, width, got)
		}
		if strings.ContainsAny(got, "\n\r\x1b\u009b\u009d\u202e") {
			t.Fatalf("a control character reached the line: %q", got)
		}
	})
}
