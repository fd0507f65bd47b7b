package process

import (
	"os"
	"testing"
)

// B7: who is below a gateway is told by its parents, whatever it did to its environment, session and group.
func TestB7_WhoIsBelowIsToldByItsParents(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `(setsid env -i bash -c 'echo child=$$; exec sleep 1000' &); sleep 1000`)
	child := said(t, p, "child")
	for _, tt := range []struct {
		name       string
		pid, above int
		want       bool
	}{
		{"a child is below its parent", p.PID(), os.Getpid(), true},
		{"a daemon without an environment is below who started its tree", child.pid, os.Getpid(), true},
		{"a parent is not below its child", os.Getpid(), p.PID(), false},
		{"nobody is below itself", os.Getpid(), os.Getpid(), false},
		{"nobody is below a pid that is none", p.PID(), 0, false},
		{"a pid that is none is below nobody", 0, os.Getpid(), false},
		{"who is not there is below nobody", 1 << 30, os.Getpid(), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Descends(tt.pid, tt.above); got != tt.want {
				t.Errorf("Descends(%d, %d) = %v", tt.pid, tt.above, got)
			}
		})
	}
}
