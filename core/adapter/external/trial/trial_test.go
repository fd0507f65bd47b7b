package trial

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// TestMain lets the test binary be the program under test, its peer, and what the program starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		switch what := os.Args[2]; what {
		case "peer":
			playPeer()
		case "sleeper":
			time.Sleep(time.Minute) // modelled: a process that does not end by itself
		default:
			playBot(strings.Join(os.Args[3:], " "))
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// options are those of a trial of the program with this fault, over a registry that is closed with the test.
func options(t *testing.T, bad string, peer bool) Options {
	t.Helper()
	soak.Long(t) // it starts processes
	life := fmt.Sprintf("trial-tests-%d-%d", os.Getpid(), time.Now().UnixNano())
	procs := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: killGrace, Log: slog.New(slog.DiscardHandler),
		Pass: func(name, _ string) bool {
			return slices.Contains([]string{"PATH", "HOME", "GORACE", "GOCOVERDIR"}, name)
		},
	})
	if err := procs.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually.True(t, "a trial leaves no process", func() bool { return procs.Count() == 0 })
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := procs.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	o := Options{
		Name: "trial", Command: []string{os.Args[0], "play", "bot", bad}, Workdir: t.TempDir(), Spawn: procs.Spawn,
		Settings: map[string]any{"strict": true}, Env: map[string]string{variable: token},
	}
	if peer {
		o.Peer = []string{os.Args[0], "play", "peer"}
	}
	return o
}

// verdicts runs the suite and returns the rows of each verdict with their details. A busy machine may add to a second what it likes, but in
// the row late.
func verdicts(t *testing.T, o Options, late string) map[Verdict]map[string][]string {
	t.Helper()
	found := map[Verdict]map[string][]string{OK: {}, Fail: {}, NotShown: {}}
	o.Each = func(r Result) { found[r.Verdict][r.Row] = r.Details }
	tr := &trial{o: o, pace: pace{settle: 50 * time.Millisecond}}
	rows := tr.rows()
	for i, r := range rows {
		rows[i].check = func(s *stage) string {
			if s.pace.tolerance = time.Minute; r.name == late {
				s.pace.tolerance = 0
			}
			return r.check(s)
		}
	}
	if err := tr.all(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPL4_AProgramThatDoesWhatTheProtocolSaysPassesWithoutAPeer(t *testing.T) {
	got := verdicts(t, options(t, "", false), "")
	if len(got[Fail]) > 0 || len(got[OK]) != len(alone)+2 {
		t.Errorf("ok: %q\nfail: %q", slices.Sorted(maps.Keys(got[OK])), got[Fail])
	}
	for row, why := range got[NotShown] {
		if len(why) != 1 || !strings.Contains(why[0], "--peer") {
			t.Errorf("%s: not shown because %q", row, why)
		}
	}
}

// The suite has a row for each fault of a program.
func TestPL4_AProgramWithOneFaultFailsTheRowOfThatFault(t *testing.T) {
	for _, c := range []struct{ bad, row string }{
		{"of another version", alone[0].name},
		{"never ready", alone[0].name},
		{"breaks at an unknown type", "it ignores types and fields that it does not know"},
		{"breaks at an empty line", "it ignores an empty line"},
		{"takes every chat", "it refuses requests for a chat that there is not"},
		{"ignores a stop", "a stop ends it, and it writes nothing more"},
		{"writes after a stop", "a stop ends it, and it writes nothing more"},
		{"runs on without its input", "the end of its standard input ends it"},
		{"leaves a process", "no process of it is left when it has ended"},
		{"vague about credentials", "it names a credential that is missing"},
		{"leaves a process after a failure", "many starts and ends leave nothing"},
		{"writes no JSON", "each of its lines is one of the protocol"},
		{"talks about its token", "what it writes for people has no secret"},
	} {
		t.Run(c.bad, func(t *testing.T) {
			got := verdicts(t, options(t, c.bad, false), c.row)
			if failed := slices.Collect(maps.Keys(got[Fail])); len(failed) != 1 || failed[0] != c.row {
				t.Errorf("these rows failed: %q", got[Fail])
			}
		})
	}
}
