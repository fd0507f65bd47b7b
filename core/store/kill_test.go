package store

import (
	"strings"
	"testing"
)

// S8, S17: a killed process holds nothing, and what it acknowledged is there.
func TestS17_AfterSIGKILLEveryAcknowledgedRowIsThereAndTheNextWriteIsImmediate(t *testing.T) {
	dir := t.TempDir()
	var acknowledged []string // "session turn"
	for round := range 2 {
		if round > 0 {
			// Turn ids begin again with each process, so each has its own database.
			dir, acknowledged = t.TempDir(), nil
		}
		o := start(t, "write until killed", dir)
		for range 200 + 150*round {
			acknowledged = append(acknowledged, o.Line(t))
		}
		if err := o.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for o.Lines.Scan() { // what it had said before it died
			if line := o.Lines.Text(); strings.Count(line, " ") == 1 {
				acknowledged = append(acknowledged, line)
			}
		}
		_ = o.Wait()

		unlocked(t, dir)
		s := open(t, dir)
		mustWrite(t, s, "next")
		if n, err := s.InterruptRunning(t.Context(), "the gateway was killed", true, noon); err != nil || n == 0 || n > 8 {
			t.Errorf("%d turns were running in 8 sessions (%v)", n, err)
		}
		if n, err := s.InterruptRunning(t.Context(), "again", true, noon); err != nil || n != 0 {
			t.Errorf("D14: %d turns still run (%v)", n, err)
		}
		have := map[string]bool{}
		_, err := s.Sessions(t.Context(), func(v Session) error {
			msgs, err := s.Since(t.Context(), v.ID, 0)
			for _, m := range msgs {
				have[v.ID+" "+m.Content] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range acknowledged {
			if !have[line] {
				t.Errorf("round %d: turn %q was acknowledged and is gone", round, line)
			}
		}
		shut(t, s)
	}
}
