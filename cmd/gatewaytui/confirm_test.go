package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"gatewaytui/core/ops"
	"gatewaytui/tui"
)

// endingLines are command lines of every verb that ends something, the stop's own flag included.
var endingLines = []string{
	"reset cli:local", "evict cli:local", "interrupt cli:local", "kill 4711", "adapter pause telegram", "adapter reconnect telegram",
	"stop", "stop --wait", "shutdown skip", "shutdown force",
}

func TestADryRunSaysWhatWouldEndAndDoesNothing(t *testing.T) {
	g := start(t, newFake())
	for _, line := range endingLines {
		for _, flags := range []string{" --dry-run", " --dry-run --yes"} {
			args := strings.Fields(line + flags)
			g.run(t, args...).must(t, exitDone).says(t, "would", "interrupt  api:user:alice", "kill       pid 9 sleep 60", "keep       the session", "at most 1m28s")
			var p ops.Preview
			decodeLine(t, g.run(t, append(args, "--json")...).must(t, exitDone).out, &p)
			if !p.EndsWork || len(p.Kills) != 1 {
				t.Errorf("%q: the JSON is %+v", args, p)
			}
		}
	}
	if did := g.commands(); len(did) > 0 {
		t.Errorf("it did %v", did)
	}
}

// TestJ8_WithoutATerminalNothingThatRunsIsEndedUnasked has the rule of CONTRACT.md, 1.
func TestJ8_WithoutATerminalNothingThatRunsIsEndedUnasked(t *testing.T) {
	f := newFake()
	g := start(t, f)
	for _, line := range endingLines {
		args := strings.Fields(line)
		r := g.run(t, args...).must(t, exitConfirm).says(t, "would end running work", "use --yes")
		if !strings.Contains(r.out, "kill       pid 9 sleep 60") {
			t.Errorf("%q does not say on stdout what it would do: %q", line, r.out)
		}
		r = g.run(t, append(args, "--json")...).must(t, exitConfirm)
		var p ops.Preview
		decodeLine(t, r.out, &p)
		if !p.EndsWork {
			t.Errorf("%q: the JSON is %+v", line, p)
		}
		if !strings.Contains(r.err, `"code":"needs_confirmation"`) {
			t.Errorf("%q: the error in JSON is %s", line, r.err)
		}
	}
	if did := g.commands(); len(did) > 0 {
		t.Fatalf("it did %v", did)
	}
	f.preview = ops.Preview{Closes: []string{"2 agents"}}
	g.run(t, "reset", "cli:local").must(t, exitDone)
	if n := len(g.commands()); n != 1 {
		t.Errorf("where nothing runs, %d commands were given, want 1", n)
	}
}

func TestAtATerminalItAsksAndTheDefaultIsNo(t *testing.T) {
	for _, answer := range []string{"y\n", "Y\n", "yes\n", " yes \n"} {
		g := start(t, newFake())
		r := invocation{home: g.home.Dir(), asks: true, stdin: answer}.run(t, t.Context(), "interrupt", "cli:local").must(t, exitDone)
		r.says(t, "interrupt cli:local would", "kill       pid 9 sleep 60", "go on? [y/N] ")
		if strings.Contains(r.out, "[y/N]") {
			t.Errorf("the question is in what is printed: %q", r.out)
		}
		did := g.commands()
		if len(did) != 1 || did[0].Expect != "s2" {
			t.Errorf("%q: it did %+v, want it to expect the conversation that was shown", answer, did)
		}
	}
	for _, answer := range []string{"\n", "n\n", "no\n", "", "yess\n", "y es\n", "y" + strings.Repeat("y", 100_000)} {
		g := start(t, newFake())
		invocation{home: g.home.Dir(), asks: true, stdin: answer}.run(t, t.Context(), "interrupt", "cli:local").must(t, exitConfirm).says(t, "not confirmed: nothing was done")
		if did := g.commands(); len(did) > 0 {
			t.Errorf("%.10q: it did %v", answer, did)
		}
	}
}

func TestAtATerminalItAsksEvenWhereNothingRuns(t *testing.T) {
	f := newFake()
	f.preview = ops.Preview{}
	g := start(t, f)
	invocation{home: g.home.Dir(), asks: true, stdin: "\n"}.run(t, t.Context(), "stop").must(t, exitConfirm).says(t, "end nothing that runs")
	invocation{home: g.home.Dir(), asks: true}.run(t, t.Context(), "stop", "--yes").must(t, exitDone)
	// What ends nothing asks nothing.
	invocation{home: g.home.Dir(), asks: true}.run(t, t.Context(), "undrain").must(t, exitDone)
}

func TestALongPreviewIsCutForPeopleAndWholeAsJSON(t *testing.T) {
	f := newFake()
	f.preview.Kills = strings.Split(strings.Repeat("pid 9;", 999)+"pid 9", ";")
	g := start(t, f)
	r := g.run(t, "stop", "--dry-run").must(t, exitDone).says(t, "and 980 more")
	if n := strings.Count(r.out, "\n"); n > 40 {
		t.Errorf("it has %d lines", n)
	}
	var p ops.Preview
	decodeLine(t, g.run(t, "stop", "--dry-run", "--json").must(t, exitDone).out, &p)
	if len(p.Kills) != 1000 {
		t.Errorf("the JSON names %d", len(p.Kills))
	}
}

// TestJ8_OnARealTerminal runs the program as a process of its own on a pseudo terminal.
func TestJ8_OnARealTerminal(t *testing.T) {
	program := filepath.Join(programFolder(t), "gatewaytui") // built before anything is timed
	for answer, want := range map[string]int{"y\r": exitDone, "\r": exitConfirm, "n\r": exitConfirm, "\x04": exitConfirm} {
		g := start(t, newFake())
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "reset", "cli:local", "--home", g.home.Dir())
		terminal, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		screen := bufio.NewReader(terminal)
		for !strings.HasSuffix(shown.String(), "[y/N] ") {
			b, err := screen.ReadByte()
			if err != nil {
				t.Fatalf("the question does not come, only %q: %v", shown.String(), err)
			}
			shown.WriteByte(b)
		}
		if _, err := terminal.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(screen) // it ends with EIO when the program has closed the terminal (pty(7))
		err = cmd.Wait()
		terminal.Close()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("after %q the exit code is %d, want %d: %v\n%s%s", answer, code, want, err, shown.String(), rest)
		}
		if did := len(g.commands()); did != 0 && want != exitDone || did != 1 && want == exitDone {
			t.Errorf("after %q it did %d things", answer, did)
		}
		safe(t, cmd.Args, strings.ReplaceAll(shown.String(), "\r", ""))
	}
}

func TestATerminalIsKnownByItself(t *testing.T) {
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer tty.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if !tui.IsTerminal(tty) || tui.IsTerminal(null) {
		t.Errorf("a pty is a terminal: %v, /dev/null is one: %v", tui.IsTerminal(tty), tui.IsTerminal(null))
	}
}

// TF24: a drain ends nothing, so it asks nothing; its dry run shows what it would wait for.
func TestTheDryRunOfADrainDrainsNothing(t *testing.T) {
	f := newFake()
	f.preview = ops.Preview{WaitsFor: []string{"cli:local (3s, model call)"}}
	g := start(t, f)
	g.run(t, "drain", "--dry-run").must(t, exitDone).says(t, "drain would", "wait for   cli:local (3s, model call)")
	if did := g.commands(); len(did) > 0 {
		t.Errorf("it did %v", did)
	}
	g.run(t, "drain", "--help").must(t, exitDone).says(t, "--dry-run", "show what it would wait for")
}

// A question about the gateway names the life that was shown: the next life is not stopped by the answer.
func TestAStopThatIsConfirmedMeansTheLifeThatWasShown(t *testing.T) {
	g := start(t, newFake())
	invocation{home: g.home.Dir(), asks: true, stdin: "y\n"}.run(t, t.Context(), "stop").must(t, exitDone)
	if did := g.commands(); len(did) != 1 || did[0].Expect != fakeLife {
		t.Errorf("the gateway was asked %+v", did)
	}
}
