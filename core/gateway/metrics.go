package gateway

import "github.com/prometheus/client_golang/prometheus"

// metrics are what only the gateway can count. What a snapshot shows is measured from there.
type metrics struct {
	registry     *prometheus.Registry
	turnsStarted prometheus.Counter
	turnsEnded   *prometheus.CounterVec
	turnSeconds  prometheus.Histogram
}

// newMetrics makes the metrics. commits is how many transactions the store has committed.
func newMetrics(commits func() float64) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		turnsStarted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gatewaytui_turns_started_total", Help: "Turns that began.",
		}),
		turnsEnded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gatewaytui_turns_ended_total", Help: "Turns that ended, by how: done, failed, interrupted.",
		}, []string{"state"}),
		turnSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gatewaytui_turn_duration_seconds", Help: "Time from the begin of a turn to its end.",
			Buckets: prometheus.ExponentialBuckets(0.005, 4, 9),
		}),
	}
	stored := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "gatewaytui_store_commits_total", Help: "Transactions that the store committed, each one synchronous write.",
	}, commits)
	m.registry.MustRegister(m.turnsStarted, m.turnsEnded, m.turnSeconds, stored)
	return m
}

// Metrics is the gateway's own metrics, for the control socket to serve beside the snapshot's.
func (g *Gateway) Metrics() prometheus.Gatherer { return g.metrics.registry }
