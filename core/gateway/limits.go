package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/limit"
)

// bounds are the bounds that the gateway itself keeps (HF5, HF9).
type bounds struct{ modelCalls *limit.Bound }

// addBounds adds the gateway's own bounds to the set.
func (g *Gateway) addBounds() {
	l := g.cfg.Limits
	g.bounds.modelCalls = g.limits.Add(limit.Spec{
		Name: limit.ModelCalls, Most: int64(l.ModelCalls),
		Used: func() int64 { return int64(g.slots.Used()) }, Waiting: g.slots.Waiting,
		Hint: "interrupt a turn",
	})
}

// lookForLimits logs each bound that has become a warning since the last look.
func (g *Gateway) lookForLimits(now time.Time) {
	warned := map[string]bool{}
	for _, w := range g.limits.Warnings(now) {
		warned[w.Code] = true
		if !g.limitsWarned[w.Code] {
			g.log.Warn("warning", "code", w.Code, "text", w.Message)
		}
	}
	g.limitsWarned = warned
}

// limitCollector is the metrics of the bounds. Their names are the only values of the label.
type limitCollector struct{ set *limit.Set }

var (
	limitReached = prometheus.NewDesc("gatewaytui_limit_reached_total", "How often something waited for a bound of the config or was refused for it, by bound.", []string{"limit"}, nil)
	limitUsed    = prometheus.NewDesc("gatewaytui_limit_used", "What is in use of a bound of the config; of one per turn or session the largest figure of any of them.", []string{"limit"}, nil)
	limitBound   = prometheus.NewDesc("gatewaytui_limit_bound", "The configured value of a bound.", []string{"limit"}, nil)
	limitWaiting = prometheus.NewDesc("gatewaytui_limit_waiting", "How many wait for a bound of the config.", []string{"limit"}, nil)
)

// Describe implements prometheus.Collector.
func (limitCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{limitReached, limitUsed, limitBound, limitWaiting} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c limitCollector) Collect(ch chan<- prometheus.Metric) {
	for _, row := range c.set.Rows() {
		ch <- prometheus.MustNewConstMetric(limitReached, prometheus.CounterValue, float64(row.Reached), row.Name)
		ch <- prometheus.MustNewConstMetric(limitUsed, prometheus.GaugeValue, float64(row.Used), row.Name)
		ch <- prometheus.MustNewConstMetric(limitBound, prometheus.GaugeValue, float64(row.Bound), row.Name)
		ch <- prometheus.MustNewConstMetric(limitWaiting, prometheus.GaugeValue, float64(row.Waiting), row.Name)
	}
}
