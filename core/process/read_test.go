package process

import (
	"testing"
	"time"
)

// HF33: a flood is read at a bounded rate, and all else at once.
func TestHF33_AFloodIsPaced(t *testing.T) {
	began := time.Now()
	now, read := began, 0
	var p pacer
	for now.Sub(began) < 10*time.Second {
		wait := p.pause(32<<10, now)
		if wait < 0 || wait > paceTime {
			t.Fatalf("a pause of %v", wait)
		}
		read += 32 << 10
		now = now.Add(wait + time.Microsecond)
	}
	if most := 101 * paceBytes; read > most || read < 80*paceBytes {
		t.Errorf("%d bytes are read in 10 s, want about %d", read, 100*paceBytes)
	}
	p = pacer{}
	for range 1000 {
		now = now.Add(4 * time.Millisecond)
		if wait := p.pause(32<<10, now); wait != 0 {
			t.Fatalf("a process that writes 8 MiB a second waits %v", wait)
		}
	}
}
