package process

import (
	"os/exec"
	"testing"

	"gatewaytui/core/process/kernel"
)

// HF6: the row of a process without a tag ends with the process, not with one scan that does not see it below us.
func TestHF6_TheRowOfAShedderEndsWithItsProcessAlone(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := statOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	r := &Registry{shed: map[ident]shedder{p.Ident: {}}}
	procs, err := kernel.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	if gone := r.departed(procs); len(gone) > 0 {
		t.Errorf("a process that lives has departed: %v", gone)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if procs, err = kernel.Table(nil); err != nil {
		t.Fatal(err)
	}
	if gone := r.departed(procs); len(gone) != 1 || gone[0] != p.Ident {
		t.Errorf("departed are %v, want the process that has ended", gone)
	}
}
