package tool

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
)

func TestProcess_ShowsAndSteersABackgroundProcess(t *testing.T) {
	b := newBench(t)
	pid := b.background(`echo ready; while read line; do echo "got <$line>"; [ "$line" = end ] && exit 7; done; exit 8`)
	eventually.True(t, "poll shows its last line", func() bool {
		a := b.act(map[string]any{"action": "poll", "pid": pid})
		return a.LastOutput == "ready" && a.State == "running" && a.ExitCode == nil && a.PID == pid && a.AgeMS >= 0
	})
	if a := b.act(map[string]any{"action": "write", "pid": pid, "data": "one\n"}); a.Written != 4 || a.State != "running" {
		t.Errorf("write: %+v", a)
	}
	eventually.True(t, "log shows what it wrote", func() bool {
		return b.act(map[string]any{"action": "log", "pid": pid}).Output == "ready\ngot <one>\n"
	})
	if a := b.act(map[string]any{"action": "wait", "pid": pid, "timeout": 0.05}); !a.TimedOut || a.State != "running" || a.Output != "ready\ngot <one>\n" {
		t.Errorf("a wait that is too short: %+v", a)
	}
	if a := b.act(map[string]any{"action": "list"}); len(a.Processes) != 1 || int(a.Processes[0]["pid"].(float64)) != pid {
		t.Errorf("list: %+v", a)
	}
	b.act(map[string]any{"action": "write", "pid": pid, "data": "end\n"})
	if a := b.act(map[string]any{"action": "wait", "pid": pid}); a.TimedOut || a.State != "exited" || a.ExitCode == nil || *a.ExitCode != 7 || !strings.HasSuffix(a.Output, "got <end>\n") {
		t.Errorf("wait: %+v", a)
	}
	eventually.True(t, "it is not listed any more", func() bool {
		return len(b.act(map[string]any{"action": "list"}).Processes) == 0
	})
	// It has ended, and can still be asked for (C10).
	if a := b.act(map[string]any{"action": "poll", "pid": pid}); a.State != "exited" || *a.ExitCode != 7 || a.LastOutput != "got <end>" {
		t.Errorf("poll after the end: %+v", a)
	}
	if a := b.act(map[string]any{"action": "write", "pid": pid, "data": "x"}); !strings.Contains(a.Error, "0 of 1 bytes were written: the process has no input") {
		t.Errorf("write after the end: %+v", a)
	}
	if a := b.act(map[string]any{"action": "kill", "pid": pid}); !a.Verified || len(a.Killed) != 0 || a.Summary != "nothing was left to kill" {
		t.Errorf("kill after the end: %+v", a)
	}
}

// "Killed" is verified, and reaches what the process started (C5).
func TestC5_ProcessKillIsVerified(t *testing.T) {
	b := newBench(t)
	pid := b.background(`trap '' TERM; setsid sleep 1000 & echo $! >pid; wait`)
	child := saidPID(t, b.opts.Workdir+"/pid")
	a := b.act(map[string]any{"action": "kill", "pid": pid})
	if !a.Verified || len(a.Killed) != 2 || len(a.Survivors) != 0 || a.Summary != "2 killed, verified" {
		t.Errorf("%+v", a)
	}
	if lives(pid) || lives(child) {
		t.Errorf("it lives: %v; its child lives: %v", lives(pid), lives(child))
	}
}

// A background process with a terminal can be typed to.
func TestProcess_WritesToATerminal(t *testing.T) {
	b := newBench(t)
	pid := b.run(map[string]any{"command": `read x; echo "got <$x>"`, "background": true, "pty": true}).PID
	b.act(map[string]any{"action": "write", "pid": pid, "data": "words\n"})
	if a := b.act(map[string]any{"action": "wait", "pid": pid}); !strings.Contains(a.Output, "got <words>\r\n") || *a.ExitCode != 0 {
		t.Errorf("%+v", a)
	}
}

// What one session has is not another's to see or to end, and neither is a pid of the machine.
func TestProcess_AnotherSessionsIsNotThere(t *testing.T) {
	b := newBench(t)
	theirs := b.background("exec sleep 1000", as("other"))
	pids := map[string]int{"another session's": theirs, "pid 1": 1, "our own": os.Getpid(), "our parent": os.Getppid(), "below zero": -1, "an unused one": 1 << 30}
	for whose, pid := range pids {
		for _, action := range actionNames()[1:] {
			a := b.act(map[string]any{"action": action, "pid": pid, "data": "x", "timeout": 0.01})
			if want := fmt.Sprintf("this session has no process %d; list shows its processes", pid); a.Error != want {
				t.Errorf("%s of the pid %s: %+v", action, whose, a)
			}
		}
	}
	if a := b.act(map[string]any{"action": "list"}); len(a.Processes) != 0 {
		t.Errorf("list: %+v", a)
	}
	if !lives(theirs) {
		t.Error("it was ended")
	}
}

// What outlived its own tree without being seen is the session's by its marker, and can be ended by its pid (C10, C11).
func TestC11_AnOrphanOfTheSessionCanBeEnded(t *testing.T) {
	b := newBench(t)
	// It does not say which spawn it comes from: unless a scan saw it below its parent, it belongs to no tracked tree.
	b.background(`(env -u GATEWAYTUI_SPAWN setsid bash -c 'while kill -0 '$$' 2>/dev/null; do sleep 0.01; done; echo $$ >pid; exec sleep 1000' </dev/null >&- 2>&- &); exit 0`)
	orphan := saidPID(t, b.opts.Workdir+"/pid")
	if a := b.act(map[string]any{"action": "kill", "pid": orphan}, as("other")); a.Error == "" {
		t.Errorf("another session ended it: %+v", a)
	}
	// It is its own row, or, if it was seen in time, its tree's.
	eventually.True(t, "it is ended by a pid that list shows", func() bool {
		for _, row := range b.act(map[string]any{"action": "list"}).Processes {
			b.act(map[string]any{"action": "kill", "pid": int(row["pid"].(float64))})
		}
		return !lives(orphan)
	})
}

func TestProcess_AWrongCallGetsOneClearSentence(t *testing.T) {
	b := newBench(t)
	pid := b.background("exec sleep 1000")
	for _, tt := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"no action", map[string]any{}, `argument "action" is required`},
		{"another action", map[string]any{"action": "stop", "pid": pid}, `argument "action" must be one of list, poll, log, wait, kill, write, not "stop"`},
		{"no pid", map[string]any{"action": "kill"}, `argument "pid" is required`},
		{"a pid in words", map[string]any{"action": "kill", "pid": "one"}, `argument "pid" must be a whole number, not a string`},
		{"half a pid", map[string]any{"action": "kill", "pid": 1.5}, `argument "pid" must be a whole number`},
		{"a timeout of zero", map[string]any{"action": "wait", "pid": pid, "timeout": 0}, `argument "timeout" must be more than 0 seconds`},
		{"an argument that there is not", map[string]any{"action": "kill", "signal": 9}, `unknown argument "signal"; this tool takes action, pid, data, timeout`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{T: t, registry: b.registry, opts: b.opts, process: b.process}
			if a := b.act(tt.args); !strings.Contains(a.Error, tt.want) || strings.Contains(a.Error, "\n") {
				t.Errorf("the model gets %q, want %q", a.Error, tt.want)
			}
		})
	}
	if !lives(pid) {
		t.Error("a wrong call ended the process")
	}
}

// An interrupt ends a wait, not what it waits for (C8).
func TestProcess_AnInterruptEndsAWaitAlone(t *testing.T) {
	b := newBench(t)
	pid := b.background("exec sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a := b.read(b.call(ctx, b.process, map[string]any{"action": "wait", "pid": pid})); !strings.Contains(a.Error, "interrupted") {
		t.Errorf("%+v", a)
	}
	if !lives(pid) {
		t.Error("the process was ended")
	}
}

// A list that is too long for a result keeps the newest, and counts the rest.
func TestProcess_ALongListIsCut(t *testing.T) {
	b := newBench(t, func(o *Options) { o.OutputLimit = 2 << 10 })
	const n = 20
	last := 0
	for i := range n {
		last = b.background(fmt.Sprintf("exec sleep 10%02d", i))
	}
	a := b.act(map[string]any{"action": "list"})
	if len(a.Processes) == 0 || len(a.Processes)+a.More != n || int(a.Processes[len(a.Processes)-1]["pid"].(float64)) != last {
		t.Errorf("%d listed, %d more", len(a.Processes), a.More)
	}
}

func FuzzProcess(f *testing.F) {
	for _, s := range []string{
		`{"action":"list"}`, `{"action":"kill","pid":1}`, `{"action":"kill","pid":-1}`, `{"action":"wait","pid":0}`, `{"action":"","pid":1}`,
		`{"action":"kill","pid":1e9}`, `{"action":"kill","pid":99999999999999999999}`, `{"action":"\u001b[2J"}`, `{`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		b := newBench(t)
		text := NewSet(b.opts.OutputLimit, b.process).Run(t.Context(), "process", Call{Session: "s", Arguments: in, Progress: func(string) {}})
		if a := b.read(text); (a.Error == "") == (a.Processes == nil) {
			t.Errorf("%q gets %q", in, text)
		}
	})
}
