package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/peer"
)

// frozen is a program that is never ready, ends at nothing but KILL, and has a child in a session of its own.
const frozen = `#!/bin/sh
trap '' TERM INT HUP
setsid sleep 600 &
echo $! >child
echo $$ >leader
while :; do sleep 600; done
`

func TestPL4_AnInterruptedTestOfAnAdapterLeavesNothing(t *testing.T) {
	program := filepath.Join(programFolder(t), "gatewaytui")
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int
	}{
		"an interrupt": {syscall.SIGINT, exitInterrupted},
		"a hangup":     {syscall.SIGHUP, exitInterrupted},
		"a kill":       {syscall.SIGKILL, -1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "frozen.sh"), []byte(frozen), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "adapter", "test", "--", "./frozen.sh")
			cmd.Dir = dir
			test := peer.Start(t, cmd)
			var pids []int
			for _, file := range []string{"leader", "child"} {
				eventually.True(t, "the program runs", func() bool {
					text, _ := os.ReadFile(filepath.Join(dir, file))
					pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
					if err == nil && strings.HasSuffix(string(text), "\n") {
						pids = append(pids, pid)
						return true
					}
					return false
				})
			}
			if err := test.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_ = test.Wait() // its code says more
			if code := test.ProcessState.ExitCode(); code != c.code {
				t.Errorf("it ended with %d, want %d", code, c.code)
			}
			for _, pid := range pids {
				eventually.True(t, "the program and its child have ended", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
			}
		})
	}
}

func TestAnAdapterThatTheGatewayUsesIsNotTested(t *testing.T) {
	g := start(t, newFake())
	p := &program{home: g.home.Dir(), getenv: func(string) string { return "" }}
	if err := p.unused(t.Context(), adapterRow.Name); !ops.HasCode(err, ops.CodeConflict) || !strings.Contains(ops.AsError(err).Hint, "adapter pause "+adapterRow.Name) {
		t.Errorf("the test of an adapter in use is refused with %v", err)
	}
	if err := p.unused(t.Context(), "shop"); err != nil {
		t.Errorf("another one is refused: %v", err)
	}
	g.leave()
	if err := p.unused(t.Context(), adapterRow.Name); err != nil {
		t.Errorf("without a gateway it is refused: %v", err)
	}
}
