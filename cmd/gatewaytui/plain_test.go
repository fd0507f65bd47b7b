package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/tui"
	"gatewaytui/tui/console"
	"gatewaytui/tui/plain"
	"gatewaytui/views/lines"
)

// restTime is the least time between two lines that were not asked for.
const restTime = 2 * time.Second

// talk is a conversation with a console of lines, in virtual time.
type talk struct {
	t     *testing.T
	f     *fake
	out   *printed
	typed *io.PipeWriter
	heard int
	left  chan tui.Exit
}

// converse runs f next to a console of lines that shows what play makes of a fake gateway.
func converse(t *testing.T, attached bool, wrap func(*fake) ops.Console, play func(k *talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		k := &talk{t: t, f: newFake(), out: newPrinted(), typed: typed, left: make(chan tui.Exit, 1)}
		var c ops.Console = k.f
		if wrap != nil {
			c = wrap(k.f)
		}
		l := &plain.Console{Printer: lines.Printer{Out: k.out, Notes: k.out}, Gateway: c, Attached: attached, From: "ACCESSIBLE=1"}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			exit, err := l.Run(ctx, in)
			if err != nil {
				t.Errorf("the console ended with %v", err)
			}
			k.left <- exit
		}()
		synctest.Wait()
		play(k)
		cancel()
		typed.Close()
		synctest.Wait()
		safe(t, nil, k.out.String())
	})
}

// says types a line, and checks that all of the parts are said after it.
func (k *talk) says(line string, parts ...string) string {
	k.t.Helper()
	if _, err := io.WriteString(k.typed, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
	synctest.Wait()
	return k.hears(parts...)
}

// hears checks that all of the parts were said since the last look.
func (k *talk) hears(parts ...string) string {
	k.t.Helper()
	all := k.out.String()
	news := all[k.heard:]
	k.heard = len(all)
	for _, part := range parts {
		if !strings.Contains(news, part) {
			k.t.Errorf("%q was not said, but:\n%s", part, news)
		}
	}
	return news
}

func (k *talk) did(want ...ops.Command) {
	k.t.Helper()
	if got := k.f.commands(); !slices.Equal(got, want) {
		k.t.Errorf("the gateway was asked %+v, want %+v", got, want)
	}
}

func (k *talk) leaves(want tui.How) {
	k.t.Helper()
	synctest.Wait()
	select {
	case exit := <-k.left:
		if exit.How != want {
			k.t.Errorf("it was left %s, want %s", exit.How, want)
		}
	default:
		k.t.Errorf("it was not left:\n%s", k.out)
	}
}

func TestLinesBeginWithWhoWantedThemAndWhatCanBeTyped(t *testing.T) {
	converse(t, true, nil, func(k *talk) {
		k.hears("plain mode (from ACCESSIBLE=1). Commands: help, status, sessions,", "The gateway (pid 4121) is running: 3 sessions, 1 running turn, 1 of 2 adapters connected.")
		help := k.says("help", "sessions [TEXT]: list the sessions", "reset NUMBER:", "quit: leave.")
		for _, spec := range ops.Verbs {
			if !strings.Contains(help, "\n"+spec.ConsoleName()+" ") && !strings.Contains(help, "\n"+spec.ConsoleName()+":") {
				t.Errorf("%s is not a command of the line console", spec.Verb)
			}
		}
		k.says("statsu", `There is no command "statsu"; did you mean status?`)
		k.says("status", "up, running for")
		k.says("plan", "worst case")
		k.says("agents", "1. api:user:alice: running, 4.0 KiB")
		k.says("adapters", "1. telegram: needs credentials")
		k.says("shutdown", "Not done: no shutdown has been recorded.")
		k.says("history 2", "Not done: no list has been printed yet; type history first.")
		k.says("history", "1. running (life "+fakeLife+")", "2. cut short in adapters (life 00LIFE)", "last seen ", "asked for by uid 0: deploy",
			"overran: adapters 5.0s of 5.0s (adapter telegram 5.0s).", "3. crashed (life 000LIFE)")
		k.says("history 2", "life        00LIFE, cut short in adapters", "adapters", "timed out", "overran     adapter telegram")
		k.says("history 9", "there is no number 9 in the last list")
		k.did()
	})
}

func TestANumberMeansTheRowThatWasReadOut(t *testing.T) {
	converse(t, true, nil, func(k *talk) {
		k.says("evict 2", "Not done: no list has been printed yet; type sessions first.")
		k.says("sessions", "1. api:user:alice", "2. cli:local: running", "a text after the command narrows the list")
		k.says("evict 3", "there is no number 3 in the last list")
		k.says("evict", "the number is missing")
		k.says("send 2", "the message has no text")
		k.says("processes", "1. pid 9: sleep 60")
		k.says("kill 4711", "there is no number 4711 in the last list")
		k.says("kill api:user:alice", `"api:user:alice" is not a number`)
		k.did()
		k.says("reset 2", "reset cli:local would", "interrupt  api:user:alice", "kill       pid 9 sleep 60", "Type y to do it")
		k.says("y", "reset cli:local: it is done")
		k.says("send 1 how are you?", "it is done")
		k.says("evict cli:local")
		k.says("y")
		k.says("extend 10s")
		k.says("extend soon", `"soon" is not a duration`)
		k.says("drain the disk is full")
		k.did(
			ops.Command{Verb: ops.VerbReset, Target: "cli:local", Expect: "s2"},
			ops.Command{Verb: ops.VerbMessage, Target: sessionRow.Key, Text: "how are you?"},
			ops.Command{Verb: ops.VerbEvict, Target: "cli:local"},
			ops.Command{Verb: ops.VerbExtend, ByMS: 10_000},
			ops.Command{Verb: ops.VerbDrain, Reason: "the disk is full", Expect: fakeLife},
		)
	})
}

func TestNothingEndsWithoutTheRightAnswer(t *testing.T) {
	for _, spec := range ops.Verbs {
		if !spec.Ends {
			continue
		}
		name := spec.ConsoleName()
		t.Run(name, func(t *testing.T) {
			converse(t, true, nil, func(k *talk) {
				line := name
				switch kind := string(spec.Target); kind {
				case "":
				case "person":
					line += " telegram:4711"
				default:
					k.says(map[string]string{"session": "sessions", "process": "processes", "adapter": "adapters", "server": "servers", "job": "jobs", "note": "memory"}[kind])
					line += " 1"
				}
				word := cmp.Or(spec.Word, "y")
				for _, no := range []string{"", "n", "Y", "yes please", "force it", name} {
					if no == word {
						continue
					}
					k.says(line, name, "would", "Type "+word+" to do it; anything else does nothing.")
					k.says(no, "Nothing was done.")
				}
				k.did()
				k.says(line)
				k.says(word)
				if did := k.f.commands(); len(did) != 1 || did[0].Verb != spec.Verb {
					t.Errorf("after the right answer the gateway was asked %+v", did)
				}
			})
		})
	}
}

func TestUnaskedLinesAreFew(t *testing.T) {
	converse(t, true, nil, func(k *talk) {
		k.hears()
		emit := func(n int) {
			for range n {
				k.f.emit(ops.EventAdapterState, "telegram", "retrying"+hostile, nil)
				k.f.emit(ops.EventTurnStarted, "cli:local", "turn started", nil)
			}
			synctest.Wait()
		}
		emit(5)
		time.Sleep(restTime)
		synctest.Wait()
		if news := k.hears("telegram: retrying", "(and 4 more; watch says each)"); strings.Count(news, "\n") != 1 {
			t.Errorf("more than one line was said:\n%s", news)
		}
		for range 10 {
			emit(10)
			time.Sleep(restTime / 4)
		}
		if news := k.hears(); strings.Count(news, "\n") > 3 {
			t.Errorf("within 5 s more than 3 lines were said:\n%s", news)
		}
		k.says("watch", "Printing events as they happen; watch again to stop.")
		emit(10)
		if news := k.hears("session.turn.started: cli:local: turn started"); strings.Count(news, "\n") != 20 {
			t.Errorf("of 20 events were said:\n%s", news)
		}
	})
}

func TestTR4_ARequestIsSaidUnaskedAndReadOutWithItsId(t *testing.T) {
	converse(t, true, nil, func(k *talk) {
		k.f.emit(ops.EventApprovalAsked, "cli:local", "approval 7K3M9Q waiting", nil)
		time.Sleep(restTime)
		k.hears("cli:local: approval 7K3M9Q waiting.")
		k.says("inbox", "1. 7K3M9Q: waiting for", "rm -rf build", "in /srv/gw/work", "because rm removes files")
		k.says("approve 7K3M9Q session", "it is done")
		k.says("deny 7K3M9Q not here", "it is done")
		k.says("approve 7K3M9Q for ever", "is not a scope")
		k.says("approve", "the id is missing")
		k.did(
			ops.Command{Verb: ops.VerbApprove, Target: "7K3M9Q", Scope: ops.ScopeSession},
			ops.Command{Verb: ops.VerbDeny, Target: "7K3M9Q", Reason: "not here"},
		)
	})
}

func TestAStopIsReportedInSentences(t *testing.T) {
	converse(t, true, nil, func(k *talk) {
		report := stopReport()
		report.Outcome = ops.ShutdownRunning
		report.Phases[1].State, report.Phases[1].Items[0].State = ops.StepRunning, ops.StepRunning
		report.Phases[1].Items[0].Next, report.Phases[1].Items[0].NextInMS = "abandoned", 2_100
		k.f.mu.Lock()
		k.f.down = report
		k.f.mu.Unlock()
		k.f.emit(ops.EventShutdownPhase, "adapters", "phase adapters running", map[string]any{"phase": report.Phases[1]})
		time.Sleep(5 * restTime)
		synctest.Wait()
		news := k.hears("adapters    running, at most 5.0s.", "The stop waits for adapter telegram, stuck, 5.0s of 5.0s: disconnect", "abandoned in 2.1s. skip stops waiting for it.")
		if strings.Count(news, "waits for adapter") != 1 {
			t.Errorf("a blocker is named again and again:\n%s", news)
		}
	})
}

// deaf is a gateway whose events end at once, as when it is killed.
type deaf struct {
	*fake
	pid atomic.Int64 // 0: the gateway is gone
}

func (d *deaf) Events(context.Context, uint64, ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) { yield(ops.Event{}, errors.New("hung up")) }
}

func (d *deaf) Snapshot(ctx context.Context, _ ...ops.Most) (ops.Snapshot, error) {
	s, err := d.fake.Snapshot(ctx)
	if s.PID = int(d.pid.Load()); s.PID == 0 {
		return ops.Snapshot{}, errors.New("no gateway listens")
	}
	return s, err
}

func TestTheNextLifeIsWaitedFor(t *testing.T) {
	var d *deaf
	converse(t, true, func(f *fake) ops.Console { d = &deaf{fake: f}; d.pid.Store(4121); return d }, func(k *talk) {
		d.pid.Store(0)
		k.hears("The gateway (pid 4121) is gone. quit leaves; the next one on this home is waited for.")
		time.Sleep(5 * (2 * time.Second))
		synctest.Wait()
		if news := k.hears(); news != "" {
			t.Errorf("while no gateway answers was said:\n%s", news)
		}
		d.pid.Store(4200)
		time.Sleep(2 * (2 * time.Second))
		synctest.Wait()
		k.hears("The gateway (pid 4200) is running")
		k.says("quit")
		k.leaves(tui.Detached)
	})
}

func TestLeavingAConsoleOfLines(t *testing.T) {
	t.Run("quit of an attached one leaves at once", func(t *testing.T) {
		converse(t, true, nil, func(k *talk) { k.says("quit"); k.leaves(tui.Detached); k.did() })
	})
	t.Run("so does the end of its input", func(t *testing.T) {
		converse(t, true, nil, func(k *talk) { k.typed.Close(); k.leaves(tui.Detached); k.did() })
	})
	t.Run("an input that breaks is a lost terminal", func(t *testing.T) {
		converse(t, true, nil, func(k *talk) { k.typed.CloseWithError(errors.New("EIO")); k.leaves(tui.TerminalLost) })
	})
	t.Run("quit of an embedded one asks, and keeps the gateway running", func(t *testing.T) {
		converse(t, false, nil, func(k *talk) {
			k.says("quit", "Leave: type stop to stop the gateway, or keep to keep it running in this terminal without a console")
			k.says("no", "Nothing was done.")
			k.says("quit")
			k.says("keep")
			k.leaves(tui.LeftRunning)
			k.did()
		})
	})
	t.Run("or stops it and stays to the end", func(t *testing.T) {
		converse(t, false, nil, func(k *talk) {
			k.says("quit")
			k.says("stop", "stop: accepted.")
			k.did(ops.Command{Verb: ops.VerbStop, Reason: "the console was left", Expect: fakeLife})
			if len(k.left) > 0 {
				t.Error("it was left before the gateway had ended")
			}
		})
	})
	t.Run("the end of the input of an embedded one stops nothing", func(t *testing.T) {
		converse(t, false, nil, func(k *talk) { k.typed.Close(); k.leaves(tui.LeftRunning); k.did() })
	})
}

func TestTheFlagBeatsTheVariable(t *testing.T) {
	for _, tc := range []struct {
		name          string
		given, wanted bool
		variable      string
		from          string
		on            bool
	}{
		{"nothing is a screen", false, false, "", "", false},
		{"the variable alone is lines", false, false, "1", "ACCESSIBLE=1", true},
		{"a variable of 0 is unset", false, false, "0", "", false},
		{"nor is one of no", false, false, "NO", "", false},
		{"the flag alone is lines", true, true, "", "--plain", true},
		{"the flag turns the variable off", true, false, "1", "--plain", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			from, on := console.Look{Plain: tc.wanted, PlainGiven: tc.given}.Lines(func(string) string { return tc.variable })
			if from != tc.from || on != tc.on {
				t.Errorf("got %q, %v", from, on)
			}
		})
	}
}

// FuzzLines: for any input, nothing ends without an answer that confirms it, and nothing raw is printed.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"reset 1", "stop now\x00", "kill 99999999999999999999", "send 1 \x1b[2J", hostile, "extend -3s", "quit\nkeep"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		converse(t, true, nil, func(k *talk) {
			_, _ = io.WriteString(k.typed, "sessions\n"+s+"\n") // it may have been left already
			synctest.Wait()
			if strings.Contains(s, "\n") {
				return // the second line may be the answer
			}
			for _, cmd := range k.f.commands() {
				if spec, _ := cmd.Verb.Spec(); spec.Ends {
					t.Fatalf("%q did %+v without a question", s, cmd)
				}
			}
		})
	})
}
