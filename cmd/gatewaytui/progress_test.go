package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestLongWorkTellsThePersonAtTheTerminalHowFarItIs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		asks  bool
		whole int64
		takes time.Duration
		want  string
	}{
		{"at a terminal", true, 4, 700 * time.Millisecond, "export      2 of 4 messages, 50%\n"},
		{"without a whole", true, 0, 700 * time.Millisecond, "export      2 messages\n"},
		{"more than was announced", true, 1, 700 * time.Millisecond, "export      2 messages\n"},
		{"that is over soon", true, 4, 100 * time.Millisecond, ""},
		{"without a terminal", false, 4, 700 * time.Millisecond, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := &program{err: &out, asks: tt.asks}
				next := p.progressOf("export", "message", tt.whole)
				for range 4 {
					next()
					time.Sleep(tt.takes)
				}
				if got := out.String(); got != tt.want {
					t.Errorf("it printed %q, want %q", got, tt.want)
				}
			})
		})
	}
}
