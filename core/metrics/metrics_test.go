package metrics

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/store"
)

// What a chat or a caller chooses makes no series: a thousand sessions with names of their own add none.
func TestNoNameFromOutsideMakesASeries(t *testing.T) {
	m := New([]string{"telegram", "telegram", "bad\xff"}, []string{"m1"}, Gauges{
		Ready: none, Commits: none, Lives: none, Outbox: none, Repeated: none, CallsWaiting: none, Events: none, EventsMissed: none, Limits: &limit.Set{},
	})
	series := func() (n int) {
		families, err := m.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			n += len(f.GetMetric())
		}
		return n
	}
	before := series()
	for _, key := range []string{"telegram:dm:1", "invented:dm:2", "", "x\xff:y:z"} {
		m.Received(key, nil)
		m.Received(key, errors.New("refused"))
		m.Sent(key, nil)
		m.Sent(key, &adapter.RefusedError{Why: "blocked"})
		m.Sent(key, errors.New("no connection"))
	}
	for _, c := range []agent.Call{
		{Model: "m1"},
		{Model: "m2", Err: errors.New("x")},
		{Model: "m1", Err: &model.Error{Kind: model.KindTimeout}},
		{Model: "m1", Err: &model.Error{Kind: "invented"}},
		{Model: "m1", Err: context.Canceled},
		{Model: "m1", Err: errors.New("x"), Interrupted: true},
		{Model: "m1", Err: model.ErrClosed, Usage: model.Usage{In: -1}},
	} {
		m.Called(c)
	}
	m.TurnEnded(store.TurnState("invented"), 1)
	if after := series(); after != before {
		t.Errorf("%d series have become %d", before, after)
	}
	for result, want := range map[string]int{"ok": 1, "timeout": 1, other: 1, resultInterrupted: 3} {
		var pb dto.Metric
		if err := m.calls.WithLabelValues("m1", result).Write(&pb); err != nil || int(pb.GetCounter().GetValue()) != want {
			t.Errorf("%s: %v calls of m1, want %d (%v)", result, pb.GetCounter().GetValue(), want, err)
		}
	}
}

func none() float64 { return 0 }

func BenchmarkMetricsOfATurn(b *testing.B) {
	m := New([]string{"telegram"}, []string{"m1"}, Gauges{Ready: none, Commits: none, Lives: none, Outbox: none, Repeated: none, CallsWaiting: none, Events: none, EventsMissed: none, Limits: &limit.Set{}})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Received("telegram:dm:1", nil)
			m.TurnStarted()
			m.Called(agent.Call{Model: "m1", Usage: model.Usage{In: 1, Out: 1}})
			m.TurnEnded(store.TurnDone, 0.1)
			m.Sent("telegram:dm:1", nil)
		}
	})
}

func TestCV5_EachModelThatACallMovedOnFromIsCounted(t *testing.T) {
	m := New(nil, []string{"a", "b", "c"}, Gauges{Ready: none, Commits: none, Lives: none, Outbox: none, Repeated: none, CallsWaiting: none, Events: none, EventsMissed: none, Limits: &limit.Set{}})
	m.Called(agent.Call{Model: "a"})
	m.Called(agent.Call{Model: "c", Failed: []string{"a", "b"}})
	m.Called(agent.Call{Model: "b", Failed: []string{"a"}, Err: errors.New("x")})
	for pair, want := range map[[2]string]float64{{"a", "b"}: 2, {"b", "c"}: 1, {"a", "c"}: 0} {
		var pb dto.Metric
		if err := m.fallbacks.WithLabelValues(pair[0], pair[1]).Write(&pb); err != nil || pb.GetCounter().GetValue() != want {
			t.Errorf("%v: %v, want %v (%v)", pair, pb.GetCounter().GetValue(), want, err)
		}
	}
}

// The tools of MCP servers have names from outside, and so have tools that there are not.
func TestACallOfAToolIsCountedUnderAKnownNameAndResult(t *testing.T) {
	m := New(nil, nil, Gauges{Ready: none, Commits: none, Lives: none, Outbox: none, Repeated: none, CallsWaiting: none, Events: none, EventsMissed: none, Limits: &limit.Set{}})
	own := []string{"terminal", "files_read"}
	for _, call := range [][2]string{
		{"terminal", ""}, {"terminal", ""}, {"terminal", "failed"}, {"files__read", ""}, {"x\xff__y", "interrupted"}, {"invented", "failed"}, {"invented2", "odd"}, {"files_read", "not run"},
	} {
		m.ToolCalled(own, call[0], call[1])
	}
	m.JobEnded("done")
	m.JobEnded("odd")
	value := func(c *prometheus.CounterVec, labels ...string) float64 {
		var pb dto.Metric
		if err := c.WithLabelValues(labels...).Write(&pb); err != nil {
			t.Fatal(err)
		}
		return pb.GetCounter().GetValue()
	}
	for labels, want := range map[[2]string]float64{
		{"terminal", "ok"}: 2, {"terminal", "failed"}: 1, {"server", "ok"}: 1, {"server", "interrupted"}: 1, {"other", "failed"}: 1, {"other", "other"}: 1, {"files_read", "not run"}: 1,
	} {
		if got := value(m.toolCalls, labels[0], labels[1]); got != want {
			t.Errorf("%v is counted %v times, want %v", labels, got, want)
		}
	}
	if done, odd := value(m.jobRuns, "done"), value(m.jobRuns, "other"); done != 1 || odd != 1 {
		t.Errorf("%v runs were done and %v ended otherwise, want 1 and 1", done, odd)
	}
}
