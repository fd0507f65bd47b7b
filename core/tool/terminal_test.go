package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
)

func TestTerminal_TellsOutputAndExitCode(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, command, output string
		code                  int
	}{
		{"a command that works", `echo out; echo err >&2`, "out\nerr\n", 0},
		{"one that fails", `echo no; exit 3`, "no\n", 3},
		{"one that is killed", `kill -9 $$`, "", 137},
		{"one that says nothing", `true`, "", 0},
		{"a command that does not exist", `exec no-such-command 2>/dev/null`, "", 127},
		{"one that reads: there is no input", `read x || echo none`, "none\n", 0},
		{"output that is not text", `printf 'a\xffb\e[31m\x9b\x00'`, "a\uFFFDb\x1b[31m\uFFFD\x00", 0},
		{"what acts on a terminal as one character", `printf '\xc2\x9b2J\x7f'`, "\u009b2J\x7f", 0},
		{"what browsers escape", `echo '<a href="x">&'`, "<a href=\"x\">&\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{T: t, registry: b.registry, opts: b.opts, terminal: b.terminal}
			a := b.run(map[string]any{"command": tt.command})
			if a.Output != tt.output || a.ExitCode == nil || *a.ExitCode != tt.code || a.TimedOut || a.Truncated || a.Error != "" || a.PID == 0 || a.LeftRunning != 0 {
				t.Errorf("%+v", a)
			}
		})
	}
	if b.run(map[string]any{"command": "true"}); !slices.Equal(b.doing, []string{"terminal: true"}) {
		t.Errorf("progress is %q", b.doing)
	}
}

func TestTerminal_RunsInTheNamedFolder(t *testing.T) {
	b := newBench(t)
	below := filepath.Join(b.opts.Workdir, "below")
	elsewhere := t.TempDir()
	pwd := func(dir string) answer {
		return b.run(map[string]any{"command": "pwd -P", "workdir": dir})
	}
	if a := b.run(map[string]any{"command": "pwd -P; stat -c %a ."}); a.Output != b.opts.Workdir+"\n700\n" {
		t.Errorf("by default: %q", a.Output)
	}
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if a := pwd("below"); a.Output != below+"\n" {
		t.Errorf("a relative one: %q", a.Output)
	}
	if a := pwd(elsewhere); a.Output != elsewhere+"\n" {
		t.Errorf("an absolute one: %q", a.Output)
	}
}

func TestTerminal_AWrongCallGetsOneClearSentence(t *testing.T) {
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"no command", map[string]any{}, `argument "command" is required`},
		{"a blank command", map[string]any{"command": " \n"}, `argument "command" is required`},
		{"a number for a command", map[string]any{"command": 1}, `argument "command" must be a string, not a number`},
		{"an argument that there is not", map[string]any{"command": "ls", "cwd": "/"}, `unknown argument "cwd"; this tool takes command, background, timeout, workdir, pty`},
		{"a timeout of zero", map[string]any{"command": "ls", "timeout": 0}, `argument "timeout" must be more than 0 seconds`},
		{"a timeout below zero", map[string]any{"command": "ls", "timeout": -1}, `argument "timeout" must be more than 0 seconds`},
		{"a timeout in words", map[string]any{"command": "ls", "timeout": "1s"}, `argument "timeout" must be a number, not a string`},
		{"a directory that is nowhere", map[string]any{"command": "ls", "workdir": "/no/such"}, `argument "workdir": the directory /no/such does not exist`},
		{"a file for a directory", map[string]any{"command": "ls", "workdir": file}, `is not a directory`},
		{"a zero byte in the command", map[string]any{"command": "a\x00b"}, `zero byte`},
		{"a zero byte in the directory", map[string]any{"command": "ls", "workdir": "a\x00b"}, `argument "workdir"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{T: t, registry: b.registry, opts: b.opts, terminal: b.terminal}
			if a := b.run(tt.args); !strings.Contains(a.Error, tt.want) || strings.Contains(a.Error, "\n") {
				t.Errorf("the model gets %q, want %q", a.Error, tt.want)
			}
			if n := b.registry.Count(); n != 0 {
				t.Errorf("%d processes were started", n)
			}
		})
	}
}

// A command that leaves a process on its pipe answers as soon as it has ended, says what it left, and the turn's end takes
// it (C6, C9).
func TestC6_AGrandchildOnThePipeDoesNotHoldTheTurn(t *testing.T) {
	for _, tt := range []struct{ name, command string }{
		{"a plain one", `sleep 1000 & echo $! >pid; echo x`},
		{"one in a session of its own", `setsid bash -c 'echo $$ >pid; exec sleep 1000' & echo x; while [ ! -s pid ]; do sleep 0.01; done`},
		{"one that ignores TERM", `trap '' TERM; sleep 1000 & echo $! >pid; echo x`},
		{"a double-forked one", `(setsid bash -c 'echo $$ >pid; exec sleep 1000' &); echo x; while [ ! -s pid ]; do sleep 0.01; done`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			a := b.run(map[string]any{"command": tt.command, "timeout": 20}) // were it held up, it would be timed out
			if a.Output != "x\n" || a.ExitCode == nil || *a.ExitCode != 0 || a.TimedOut || a.LeftRunning != 1 {
				t.Errorf("%+v", a)
			}
			pid := saidPID(t, filepath.Join(b.opts.Workdir, "pid"))
			if !lives(pid) {
				t.Error("what it left is gone before the turn is")
			}
			if rep := b.registry.KillTurn(t.Context(), "t", b.opts.KillGrace); !rep.Verified {
				t.Error(rep.Summary())
			}
			if lives(pid) {
				t.Error("what it left outlived the turn")
			}
		})
	}
}

// At the limit the whole tree is ended, and the answer says so (C5, C7).
func TestC5_TheLimitEndsTheWholeTree(t *testing.T) {
	for _, tt := range []struct{ name, command string }{
		{"a command that runs on", `echo $$ >pid; echo begun; sleep 1000`},
		{"a child that ignores TERM", `trap '' TERM; sleep 1000 & echo $! >pid; echo begun; wait`},
		{"a child in a session of its own", `setsid sleep 1000 & echo $! >pid; echo begun; wait`},
		{"a stopped command", `echo $$ >pid; echo begun; kill -STOP $$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			began := time.Now()
			a := b.run(map[string]any{"command": tt.command, "timeout": 1})
			if took, most := time.Since(began), time.Second+b.opts.KillGrace+killSlack+slack; took > most {
				t.Errorf("it took %v, more than %v", took, most)
			}
			if !a.TimedOut || a.Output != "begun\n" || a.ExitCode == nil || *a.ExitCode == 0 || len(a.Survivors) > 0 {
				t.Errorf("%+v", a)
			}
			if want := "it ran for longer than 1s; it was ended with everything that it started"; a.Error != want {
				t.Errorf("the model gets %q, want %q", a.Error, want)
			}
			if pid := saidPID(t, filepath.Join(b.opts.Workdir, "pid")); lives(pid) {
				t.Errorf("pid %d lives on", pid)
			}
			if n := b.registry.Count(); n != 0 {
				t.Errorf("%d trees are left", n)
			}
		})
	}
	t.Run("the configured limit holds for who asks for more", func(t *testing.T) {
		b := newBench(t, func(o *Options) { o.Timeout = 200 * time.Millisecond })
		if a := b.run(map[string]any{"command": "sleep 1000", "timeout": 1e300}); !a.TimedOut {
			t.Errorf("%+v", a)
		}
	})
}

func TestTerminal_LongOutputIsCutInTheMiddle(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct{ name, command string }{
		{"more than is kept", `echo begin; seq 100000; echo end`},
		{"less than is kept, but more as JSON", `echo begin; head -c 8000 /dev/zero; echo; echo end`},
		{"a flood on one line", `printf begin; head -c 20000000 /dev/zero | tr '\0' '"'; echo; echo end`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{T: t, registry: b.registry, opts: b.opts, terminal: b.terminal}
			a := b.run(map[string]any{"command": tt.command})
			if !a.Truncated || !strings.HasPrefix(a.Output, "begin") || !strings.HasSuffix(a.Output, "end\n") || !strings.Contains(a.Output, "bytes left out]") {
				t.Errorf("truncated: %v, %d bytes: %q", a.Truncated, len(a.Output), head(a.Output, 200))
			}
		})
	}
}

func TestTerminal_PTY(t *testing.T) {
	b := newBench(t)
	a := b.run(map[string]any{"command": `[ -t 0 ] && [ -t 1 ] && stty size`, "pty": true})
	if a.Output != "24 80\r\n" || *a.ExitCode != 0 {
		t.Errorf("%+v", a)
	}
}

// An interrupt ends the command in the foreground at once, and leaves what is in the background (C1, C8).
func TestTerminal_AnInterruptEndsTheForegroundAlone(t *testing.T) {
	b := newBench(t)
	background := b.background("exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan string, 1)
	began := time.Now()
	go func() {
		result <- b.call(ctx, b.terminal, map[string]any{"command": `setsid sleep 1000 & echo $! >pid; echo begun; wait`})
	}()
	pid := saidPID(t, filepath.Join(b.opts.Workdir, "pid"))
	cancel()
	a := b.read(<-result)
	if took := time.Since(began); took > b.opts.Timeout/2 {
		t.Errorf("it took %v", took)
	}
	if a.TimedOut || !strings.HasPrefix(a.Error, "interrupted: ") {
		t.Errorf("%+v", a)
	}
	if lives(pid) {
		t.Error("the foreground command's child lives on")
	}
	if !lives(background) {
		t.Error("the background process was ended as well")
	}
	if text := b.call(ctx, b.terminal, map[string]any{"command": "sleep 1000"}); !strings.Contains(text, "interrupted") {
		t.Errorf("a call after the interrupt: %q", text)
	}
	if text := b.call(ctx, b.terminal, map[string]any{"command": "sleep 1000", "background": true}); !strings.Contains(text, "interrupted") {
		t.Errorf("a background call after the interrupt: %q", text)
	}
	eventually.True(t, "only the first background process is left", func() bool { return b.registry.Count() == 1 })
}

// A command that a signal from outside ended asks whether the turn ends with it; one that ended by itself does not (C12).
func TestC12_ASignalOfOthersIsAskedAbout(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		asked         bool
	}{
		{"TERM to the command", "kill -TERM $$", true},
		{"HUP to it", "kill -HUP $$", true},
		{"TERM to the last of what its shell ran", "bash -c 'kill -TERM $$'; exit $?", true},
		{"KILL, of which the kernel is the usual sender", "kill -KILL $$", false},
		{"a failure of its own", "exit 3", false},
		{"a good end", "true", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.command, "-HUP") && signal.Ignored(syscall.SIGHUP) {
				t.Skip("runs where SIGHUP is not ignored, so not under nohup: every child inherits that")
			}
			b := newBench(t)
			asked := 0
			a := b.run(map[string]any{"command": tt.command}, func(c *Call) {
				c.Signalled = func(context.Context) error { asked++; return errors.New("the gateway is stopping") }
			})
			if asked > 0 != tt.asked || tt.asked != strings.HasPrefix(a.Error, "interrupted: the gateway is stopping") {
				t.Errorf("asked %d times; %+v", asked, a)
			}
		})
	}
}

// What a child agent starts ends with its turn, in the background too (C14); what a session starts does not (C8).
func TestC14_AChildsBackgroundEndsWithItsTurn(t *testing.T) {
	b := newBench(t)
	child := b.background("exec sleep 1000", func(c *Call) { c.Turn, c.Child = "child", true })
	parent := b.background("exec sleep 1001", func(c *Call) { c.Turn = "child" })
	if rep := b.registry.KillTurn(t.Context(), "child", b.opts.KillGrace); !rep.Verified || len(rep.Killed) != 1 {
		t.Error(rep.Summary())
	}
	if lives(child) || !lives(parent) {
		t.Errorf("the child's lives: %v; the session's lives: %v", lives(child), lives(parent))
	}
}

func TestC17_TheSameBackgroundCommandTwiceIsNoted(t *testing.T) {
	b := newBench(t)
	same := map[string]any{"command": "exec sleep 1000", "background": true}
	first := b.run(same)
	if first.Note != "" {
		t.Errorf("the first: %q", first.Note)
	}
	second := b.run(same)
	if !strings.Contains(second.Note, fmt.Sprintf("already runs in this directory as pid %d", first.PID)) {
		t.Errorf("the second: %q", second.Note)
	}
	if a := b.run(map[string]any{"command": "exec sleep 1000", "background": true, "workdir": t.TempDir()}); a.Note != "" {
		t.Errorf("one in another directory: %q", a.Note)
	}
	for _, row := range b.registry.SessionRows("s") { // the operator sees what the model got
		want := 0
		if row.PID == second.PID {
			want = first.PID
		}
		if row.DuplicateOf != want {
			t.Errorf("the row of process %d says that it repeats %d, want %d", row.PID, row.DuplicateOf, want)
		}
	}
	if a := b.run(same, as("another")); a.Note != "" {
		t.Errorf("another session's: %q", a.Note)
	}
	b.registry.KillSession(t.Context(), "s", b.opts.KillGrace)
	if a := b.run(same); a.Note != "" {
		t.Errorf("one whose like has ended: %q", a.Note)
	}
}

func TestTerminal_IsRefusedWhileTheGatewayStops(t *testing.T) {
	b := newBench(t)
	b.registry.Refuse()
	if a := b.run(map[string]any{"command": "true"}); !strings.Contains(a.Error, process.ErrClosing.Error()) {
		t.Errorf("%+v", a)
	}
}

// A silent command makes no progress, a command that writes does (D13).
func TestD13_OutputIsProgress(t *testing.T) {
	b := newBench(t)
	count := func(command string) int {
		b.doing = nil
		b.run(map[string]any{"command": command})
		return len(b.doing)
	}
	if silent, busy := count("sleep 1.5"), count("echo a; sleep 1.5"); silent != 1 || busy != 2 {
		t.Errorf("progress was noted %d times of a silent command, %d of one that wrote", silent, busy)
	}
}

// For any arguments a model gets one JSON object in bounds, and nothing is left running that it does not know of.
func FuzzTerminal(f *testing.F) {
	for _, s := range []string{
		`{"command":"true"}`, `{"command":"echo x","timeout":1e-9}`, `{"command":"exit 1","background":true}`, `{"command":"true","pty":true}`,
		`{"command":"true","workdir":".."}`, `{"command":"true","workdir":"\u0000"}`, `{}`, `[`, `{"command":["true"]}`, `{"background":true}`,
		`{"command":"true","timeout":1e999}`, "{\"command\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		// Arguments alone are fuzzed: what they would run is replaced, or a fuzzer would run what it likes.
		var given map[string]json.RawMessage
		if json.Unmarshal(in, &given) == nil {
			if _, ok := given["command"]; ok {
				var command string
				if json.Unmarshal(given["command"], &command) == nil && strings.TrimSpace(command) != "" {
					given["command"] = json.RawMessage(`"true"`)
				}
				in, _ = json.Marshal(given)
			}
		}
		b := newBench(t, func(o *Options) { o.Timeout = time.Second })
		text := NewSet(b.opts.OutputLimit, b.terminal).Run(t.Context(), "terminal", Call{
			Session: "s", Turn: "t", Arguments: in, Progress: func(string) {},
		})
		a := b.read(text)
		if (a.Error == "") == (a.PID == 0) && !a.TimedOut {
			t.Errorf("%q gets %q", in, text)
		}
	})
}

// A command that a limit of the machine stopped says which (HF3, HF4).
func TestTerminal_NamesTheLimitThatItRanInto(t *testing.T) {
	for _, tt := range []struct {
		name   string
		exit   process.Exit
		output string
		want   string
	}{
		{"out of memory", process.Exit{Code: 137, Limit: "out of memory"}, "", "out of memory"},
		{"no more processes", process.Exit{Code: 254}, "a\nbash: fork: Resource temporarily unavailable\n", "the limit on processes for tools was reached"},
		{"a command that worked in spite of it", process.Exit{}, "bash: fork: retry: Resource temporarily unavailable\n", ""},
		{"a socket that would block", process.Exit{Code: 1}, "recv: Resource temporarily unavailable\n", ""},
		{"an ordinary failure", process.Exit{Code: 1}, "fork\n", ""},
	} {
		if got := limitOf(tt.exit, tt.output); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	b := newBench(t)
	out, err := b.terminal.Run(t.Context(), Call{Session: "s", Turn: "t", Progress: func(string) {}, Arguments: json.RawMessage(`{"command":"echo sh: fork: Resource temporarily unavailable; exit 254"}`)})
	if err != nil || !strings.Contains(out, `"limit":"the limit on processes`) {
		t.Errorf("the answer is %s, %v", out, err)
	}
}
