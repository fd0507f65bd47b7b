package control

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gatewaytui/core/ops"
)

// scrapeTime bounds the snapshot behind one scrape.
const scrapeTime = 2 * time.Second

// metricsHandler serves what extra gathers and what the console shows.
func metricsHandler(console ops.Console, extra prometheus.Gatherer) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(rowCollector{console})
	gatherers := prometheus.Gatherers{own}
	if extra != nil {
		gatherers = append(gatherers, extra)
	}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, Timeout: 2 * scrapeTime})
}

// rowCollector makes gauges of a snapshot at each scrape, so that metrics and screen can never differ.
type rowCollector struct{ console ops.Console }

var states = []ops.State{ops.StateStarting, ops.StateRunning, ops.StateDraining, ops.StateStopping}

var adapterStates = []ops.AdapterState{
	ops.AdapterConnecting, ops.AdapterConnected, ops.AdapterStale, ops.AdapterRetrying,
	ops.AdapterNeedsCredentials, ops.AdapterPaused, ops.AdapterStopped,
}

// Describe sends none: which series there are depends on the gateway's state.
func (c rowCollector) Describe(chan<- *prometheus.Desc) {}

// Collect takes one snapshot. A gateway that does not give one is shown as not up, and with nothing else.
func (c rowCollector) Collect(ch chan<- prometheus.Metric) {
	labelled := func(name, help string, v float64, labels prometheus.Labels) {
		for l := range labels {
			labels[l] = strings.ToValidUTF8(labels[l], "\uFFFD")
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), prometheus.GaugeValue, v)
	}
	gauge := func(name, help string, v float64) { labelled(name, help, v, nil) }
	// A collector is given no context; the scraper's patience is about as long.
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s, err := c.console.Snapshot(ctx)
	gauge("gatewaytui_up", "Whether the gateway answered with a snapshot.", truth(err == nil))
	if err != nil {
		return
	}
	labelled("gatewaytui_build_info", "The version that runs; always 1.", 1, prometheus.Labels{"version": s.Version})
	gauge("gatewaytui_uptime_seconds", "Time since this life began.", float64(s.UptimeMS)/1000)
	for _, st := range states {
		labelled("gatewaytui_state", "Whether the gateway is in the state.", truth(s.State == st), prometheus.Labels{"state": string(st)})
	}
	gauge("gatewaytui_sessions", "Sessions known.", float64(s.Counts.Sessions))
	gauge("gatewaytui_running_turns", "Turns that run.", float64(s.Counts.RunningTurns))
	gauge("gatewaytui_queued_messages", "Messages that wait behind a running turn.", float64(s.Counts.QueuedMessages))
	gauge("gatewaytui_cached_agents", "Agents in the cache.", float64(s.Counts.CachedAgents))
	gauge("gatewaytui_agent_bytes", "Size of the transcripts of all agents.", sum(s.Agents, func(r ops.Agent) int64 { return r.Bytes }))
	gauge("gatewaytui_processes", "Tracked process trees.", float64(s.Counts.Processes))
	resident := sum(s.Processes, func(r ops.Process) int64 { return r.RSSBytes })
	gauge("gatewaytui_tool_processes_resident_bytes", "Resident memory of all process trees that tools started. The gateway's own is process_resident_memory_bytes.", resident)
	gauge("gatewaytui_process_resident_bytes", "The same as gatewaytui_tool_processes_resident_bytes, under its first name: 0 while no process is tracked, and never the gateway's own.", resident)
	gauge("gatewaytui_background_tasks", "Tracked background tasks.", float64(len(s.Background)))
	gauge("gatewaytui_warnings", "Warnings that are shown.", float64(len(s.Warnings)))
	for _, a := range s.Adapters {
		labelled("gatewaytui_adapter_up", "Whether the adapter is connected.", truth(a.State == ops.AdapterConnected), prometheus.Labels{"adapter": a.Name})
		labelled("gatewaytui_adapter_queued_sends", "Sends that wait.", float64(a.Queue), prometheus.Labels{"adapter": a.Name})
		for _, st := range adapterStates {
			labelled("gatewaytui_adapter_state", "Whether the adapter is in the state.", truth(a.State == st), prometheus.Labels{"adapter": a.Name, "state": string(st)})
		}
	}
	if s.Shutdown == nil {
		return
	}
	for _, p := range s.Shutdown.Phases {
		labelled("gatewaytui_shutdown_phase", "Whether the phase of the running shutdown runs.", truth(p.State == ops.StepRunning), prometheus.Labels{"phase": p.Name})
	}
	gauge("gatewaytui_shutdown_blockers", "Items that the running phase of a shutdown waits for.", float64(len(s.Shutdown.Blockers())))
	gauge("gatewaytui_shutdown_deadline_timestamp_seconds", "When the running shutdown is over at the latest.", float64(s.Shutdown.DeadlineAt.UnixMilli())/1000)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sum[T any](rows []T, of func(T) int64) float64 {
	var n int64
	for _, r := range rows {
		n += of(r)
	}
	return float64(n)
}
