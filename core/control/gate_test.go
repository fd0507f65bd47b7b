package control

import (
	"net/http"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// from is a peer that connected as a process.
func from(pid int32, tool bool) *peer {
	return &peer{cred: &ucred{Pid: pid}, known: true, asTool: tool}
}

// HF12: one process gets a share of the connections, tools leave the last ones to others, and those are for callers without any
// connection; what is given back can be taken again.
func TestHF12_OneProcessAndToolsLeaveConnectionsToOthers(t *testing.T) {
	reached := 0
	g := newGate(nil, Connections{Most: 32, Reached: func() { reached++ }}, nil)
	served := func(p *peer) (leave func(), ok bool) {
		leave, in := g.enter(p)
		return leave, in && p.full == nil
	}
	var leave func()
	for i := range g.share {
		l, ok := served(from(1, false))
		if !ok {
			t.Fatalf("connection %d of a process is refused", i)
		}
		leave = l
	}
	if _, ok := served(from(1, false)); ok || reached != 1 {
		t.Errorf("a process gets more than its share of %d; reached %d", g.share, reached)
	}
	leave()
	if _, ok := served(from(1, false)); !ok {
		t.Error("a place that was given back is not there")
	}
	tools := 0
	for pid := int32(100); pid < 200; pid++ {
		if _, ok := served(from(pid, true)); ok {
			tools++
		}
	}
	if want := g.most - g.kept - g.share; tools != want {
		t.Errorf("tools get %d connections, want %d", tools, want)
	}
	for pid := range int32(g.kept) {
		if _, ok := served(from(200+pid, false)); !ok {
			t.Errorf("kept connection %d is not there for an operator", pid)
		}
		if _, ok := served(from(200+pid, false)); ok {
			t.Error("a kept connection goes to a process that has one")
		}
	}
	if _, ok := served(from(300, false)); ok || g.used() != g.most {
		t.Errorf("%d connections are open, at most %d are to be", g.used(), g.most)
	}
}

// HF12: a connection beyond the bound gets an error with the bound's name and when to ask again, and the rest of a flood is closed.
func TestHF12_AConnectionOverTheBoundLearnsWhy(t *testing.T) {
	r := serve(t, newFake(), func(o *Options) { o.Connections = Connections{Most: 8} }) // 2 of one process
	for range 2 {
		c, err := dial(t.Context(), r.path, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	var status int
	var e ops.Error
	eventually.True(t, "the two connections are taken", func() bool { return r.server.Used() == 2 })
	status, e = ask(t, r, http.MethodGet, "/v1/status")
	if status != http.StatusTooManyRequests || e.Code != ops.CodeLimit || e.Hint == "" {
		t.Errorf("answered %d %+v", status, e)
	}
}
