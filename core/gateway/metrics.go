package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/metrics"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// newMetrics returns the metrics of g, which reads its gauges when it is asked for them.
func (g *Gateway) newMetrics() *metrics.Metrics {
	m := metrics.New(g.platformNames(), g.modelNames(), metrics.Gauges{
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
		CallsWaiting: func() float64 { return float64(g.slots.Waiting()) },
		Limits:       g.limits,
		Events:       func() float64 { return float64(g.events.Newest()) }, EventsMissed: func() float64 { return float64(g.events.Missed()) },
	})
	m.CountAlso(g.opts.Platforms)
	return m
}

// platformNames are the platforms of the config.
func (g *Gateway) platformNames() []string {
	var names []string
	for _, p := range g.opts.Platforms {
		names = append(names, p.Name())
	}
	for name := range g.opts.Broken {
		names = append(names, name)
	}
	return names
}

// modelNames are the models of the config.
func (g *Gateway) modelNames() []string {
	if g.opts.Models == nil {
		return nil
	}
	return []string{g.opts.Models.Name()}
}

// Metrics is the gateway's own metrics, for the control socket to serve beside the snapshot's.
func (g *Gateway) Metrics() prometheus.Gatherer { return g.metrics.Gatherer() }

// adapterChanged emits the state of an adapter, with the error that brought it there.
func (g *Gateway) adapterChanged(a ops.Adapter) {
	text, data := string(a.State), map[string]any{"state": a.State, "attempt": a.Attempt}
	if cause := term.Clean(a.LastError, 300); cause != "" && a.State != ops.AdapterConnected {
		text, data["error"] = text+": "+cause, cause
	}
	g.events.Emit(ops.EventAdapterState, a.Name, text, data)
}
