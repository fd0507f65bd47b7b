package process

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A command that the kernel ended for want of memory says so, and one that a signal killed does not (HF4).
func TestHF4_AnEndForWantOfMemoryIsNamed(t *testing.T) {
	var kills atomic.Uint64
	kills.Store(7) // from before
	r := New(Options{Life: testLife, HomeID: testHome(), KillGrace: short, Log: discard})
	r.oom.kills = kills.Load
	opened(t, r)
	for _, tt := range []struct {
		name, script string
		grows, named bool
	}{
		{"killed by a signal", `kill -9 $$`, false, false},
		{"its last command killed by a signal", `sh -c 'kill -9 $$'`, false, false},
		{"ended by itself", `exit 3`, true, false},
		{"killed by the kernel", `kill -9 $$`, true, true},
		{"its last command killed by the kernel", `sh -c 'kill -9 $$'`, true, true},
	} {
		r.oom.mu.Lock()
		r.oom.grew = time.Time{} // the one before was long ago
		r.oom.mu.Unlock()
		p := sh(t, r, `read go; `+tt.script, func(s *Spec) { s.Stdin = true })
		if tt.grows {
			kills.Add(1)
		}
		if _, err := p.Write(t.Context(), []byte("go\n")); err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, p); strings.Contains(exit.Limit, "out of memory") != tt.named {
			t.Errorf("%s: code %d, limit %q", tt.name, exit.Code, exit.Limit)
		}
	}

	kills.Add(1)
	p := sh(t, r, `exec sleep 1000`)
	verified(t, p.Kill(t.Context(), 0))
	if exit := wait(t, p); exit.Signal != unix.SIGKILL || exit.Limit != "" {
		t.Errorf("one that we killed: %+v", exit)
	}
}

func TestEndings_GrowthThatIsOldNamesNothing(t *testing.T) {
	count := uint64(3)
	e := endings{kills: func() uint64 { return count }}
	now := time.Unix(1000, 0)
	e.look(now)
	count++
	if later := now.Add(time.Hour); e.recent(later) {
		t.Error("a count that was not read for an hour grew just now")
	}
	count++
	if !e.recent(now.Add(time.Hour + time.Second)) {
		t.Error("a count that grew within a second did not grow just now")
	}
	if e.recent(now.Add(time.Hour + time.Minute)) {
		t.Error("what grew a minute ago grew just now")
	}
}
