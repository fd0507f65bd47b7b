package process

import (
	"os"
	"testing"
)

// B7: a process below a gateway is found by its parents, after any change to its environment, session and group.
func TestB7_DescentIsFoundByTheParents(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `(setsid env -i bash -c 'echo child=$$; exec sleep 1000' &); sleep 1000`)
	child := said(t, p, "child")
	for _, tt := range []struct {
		name       string
		pid, above int
		want       bool
	}{
		{"a child is below its parent", p.PID(), os.Getpid(), true},
		{"a daemon without an environment is below who started its tree", child.PID, os.Getpid(), true},
		{"a parent is not below its child", os.Getpid(), p.PID(), false},
		{"no process is below itself", os.Getpid(), os.Getpid(), false},
		{"no process is below an invalid pid", p.PID(), 0, false},
		{"an invalid pid is below no process", 0, os.Getpid(), false},
		{"an unused pid is below no process", 1 << 30, os.Getpid(), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Descends(tt.pid, tt.above); got != tt.want {
				t.Errorf("Descends(%d, %d) = %v", tt.pid, tt.above, got)
			}
		})
	}
}
