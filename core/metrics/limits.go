package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/limit"
)

// limitCollector is the metrics of the bounds. Their names are the only values of the label.
type limitCollector struct{ set *limit.Set }

var (
	limitReached = prometheus.NewDesc("gatewaytui_limit_reached_total", "How often something waited for a bound of the config or was refused for it, by bound.", []string{"limit"}, nil)
	limitUsed    = prometheus.NewDesc("gatewaytui_limit_used", "What is in use of a bound of the config; of one per turn, session or process tree the largest figure of any of them.", []string{"limit"}, nil)
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
