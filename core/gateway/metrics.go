package gateway

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/metrics"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// newMetrics returns the metrics of g, which reads its gauges when it is asked for them.
func (g *Gateway) newMetrics(slots *model.Slots) *metrics.Metrics {
	names := slices.Collect(maps.Keys(g.opts.Broken))
	for _, p := range g.opts.Platforms {
		names = append(names, p.Name())
	}
	m := metrics.New(names, []string{g.opts.Models.Name()}, metrics.Gauges{
		Commits: func() float64 {
			if st := g.recovery.Store(); st != nil {
				return float64(st.Commits())
			}
			return 0
		},
		Ready: func() float64 {
			if g.health.LastReadiness(time.Now()) != nil {
				return 0
			}
			return 1
		},
		Lives: func() float64 { return float64(g.recovery.Begun()) }, Outbox: func() float64 { return float64(g.outbox.Waiting()) },
		CallsWaiting: func() float64 { return float64(slots.Waiting()) },
		Limits:       g.opts.Limits,
		Events:       func() float64 { return float64(g.events.Newest()) }, EventsMissed: func() float64 { return float64(g.events.Missed()) },
	})
	m.CountAlso(g.opts.Platforms)
	return m
}

// Metrics is the gateway's own metrics, for the control socket to serve with the snapshot's.
func (g *Gateway) Metrics() prometheus.Gatherer { return g.metrics.Gatherer() }

// adapterChanged emits the state of an adapter, with the error that brought it there.
func (g *Gateway) adapterChanged(a ops.Adapter) {
	text, change := string(a.State), ops.AdapterChange{Attempt: a.Attempt, State: a.State}
	if cause := term.Clean(a.LastError, 300); cause != "" && a.State != ops.AdapterConnected {
		text, change.Error = text+": "+cause, cause
	}
	g.events.Emit(ops.EventAdapterState, a.Name, text, change)
}
