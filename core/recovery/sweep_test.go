package recovery

import (
	"context"
	"errors"
	"testing"

	"gatewaytui/core/process"
	"gatewaytui/core/store"
)

// earlier is what earlier lives left, of which something survives the first look.
type earlier struct{ looks int }

func (e *earlier) SweepEarlier(context.Context, []process.Entry) (ended, spared []process.Entry, err error) {
	e.looks++
	if e.looks == 1 {
		return nil, nil, errors.New("1 process survived")
	}
	return nil, nil, nil
}

func TestC2_WhatSurvivesASweepIsLookedForAgain(t *testing.T) {
	r, _ := made(t)
	st, err := r.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	row := store.Process{Life: "before", PID: 1 << 30, StartTicks: 1, BootID: "boot", Command: "sleep 60", Policy: "session"}
	if err := st.RecordProcesses(t.Context(), []store.Process{row}); err != nil {
		t.Fatal(err)
	}
	var e earlier
	r.Sweep(t.Context(), &e)
	if e.looks != 2 {
		t.Errorf("it looked %d times, and until nothing is left is promised", e.looks)
	}
	if left, err := r.earlierEntries(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("the journal still names %v, %v", left, err)
	}
}
