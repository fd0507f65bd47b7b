package environment

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// leaver is a driver that knows of environments that no session holds.
type leaver struct {
	*fake
	left      []ops.Environment
	recovered *atomic.Bool
}

func (l leaver) Recover(context.Context) { l.recovered.Store(true) }

func (l leaver) Left() []ops.Environment { return l.left }

// TR6: a close that failed is listed, also after its driver has removed what it left, until the set is settled.
func TestTR6_WhatADriverRemovesLaterIsListedNoMore(t *testing.T) {
	f := &fake{kind: KindContainer, stays: errors.New("the daemon hangs")}
	var recovered atomic.Bool
	s := newSet(t, Options{
		Drivers: []Driver{leaver{f, []ops.Environment{{ID: "of an earlier life"}}, &recovered}}, Setup: Setup{Definitions: map[string]Definition{"box": {Kind: KindContainer}}, Agents: map[string]string{"default": "box"}},
	})
	if _, _, err := s.Command(t.Context(), Request{Session: "s", Agent: "default"}); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the start looks for what earlier lives left", recovered.Load)
	if err := s.Close(t.Context(), "s"); err == nil {
		t.Fatal("a close that failed says nothing")
	}
	s.Settle(t.Context())
	if rows := s.Held(); len(rows) != 1 || rows[0].State != ops.EnvironmentCloseFailed {
		t.Errorf("while the daemon hangs the rows are %+v", rows)
	}
	f.mu.Lock()
	f.stays = nil
	f.mu.Unlock()
	s.Settle(context.Background())
	if held, all := s.Held(), s.Rows(); len(held) > 0 || len(all) != 1 || all[0].ID != "of an earlier life" {
		t.Errorf("in the end held are %+v, and the rows are %+v", held, all)
	}
}
