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

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gatewaytui_"+name, help, labels, nil)
}

var (
	upDesc           = desc("up", "Whether the gateway answered with a snapshot.")
	buildDesc        = desc("build_info", "The version that runs; always 1.", "version")
	uptimeDesc       = desc("uptime_seconds", "Time since this life began.")
	stateDesc        = desc("state", "Whether the gateway is in the state.", "state")
	sessionsDesc     = desc("sessions", "Sessions known.")
	turnsDesc        = desc("running_turns", "Turns that run.")
	queuedDesc       = desc("queued_messages", "Messages that wait behind a running turn.")
	agentsDesc       = desc("cached_agents", "Agents in the cache.")
	agentBytesDesc   = desc("agent_bytes", "Size of the transcripts of all agents.")
	processesDesc    = desc("processes", "Tracked process trees.")
	toolBytesDesc    = desc("tool_processes_resident_bytes", "Resident memory of all process trees that tools started. The gateway's own is process_resident_memory_bytes.")
	processBytesDesc = desc("process_resident_bytes", "The same as gatewaytui_tool_processes_resident_bytes, under its first name: 0 while no process is tracked, and never the gateway's own.")
	backgroundDesc   = desc("background_tasks", "Tracked background tasks.")
	warningsDesc     = desc("warnings", "Warnings that are shown.")
	adapterUpDesc    = desc("adapter_up", "Whether the adapter is connected.", "adapter")
	adapterStateDesc = desc("adapter_state", "Whether the adapter is in the state.", "adapter", "state")
	adapterQueueDesc = desc("adapter_queued_sends", "Sends that wait.", "adapter")
	phaseDesc        = desc("shutdown_phase", "Whether the phase of the running shutdown runs.", "phase")
	blockersDesc     = desc("shutdown_blockers", "Items that the running phase of a shutdown waits for.")
	deadlineDesc     = desc("shutdown_deadline_timestamp_seconds", "When the running shutdown is over at the latest.")
)

var states = []ops.State{ops.StateStarting, ops.StateRunning, ops.StateDraining, ops.StateStopping}

var adapterStates = []ops.AdapterState{
	ops.AdapterConnecting, ops.AdapterConnected, ops.AdapterStale, ops.AdapterRetrying,
	ops.AdapterNeedsCredentials, ops.AdapterPaused, ops.AdapterStopped,
}

// Describe sends none: which series there are depends on the gateway's state.
func (c rowCollector) Describe(chan<- *prometheus.Desc) {}

// Collect takes one snapshot. A gateway that does not give one is shown as not up, and with nothing else.
func (c rowCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		for i, l := range labels {
			labels[i] = strings.ToValidUTF8(l, "\uFFFD")
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	// A collector is given no context; the scraper's patience is about as long.
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s, err := c.console.Snapshot(ctx)
	gauge(upDesc, truth(err == nil))
	if err != nil {
		return
	}
	gauge(buildDesc, 1, s.Version)
	gauge(uptimeDesc, seconds(s.UptimeMS))
	for _, st := range states {
		gauge(stateDesc, truth(s.State == st), string(st))
	}
	gauge(sessionsDesc, float64(s.Counts.Sessions))
	gauge(turnsDesc, float64(s.Counts.RunningTurns))
	gauge(queuedDesc, float64(s.Counts.QueuedMessages))
	gauge(agentsDesc, float64(s.Counts.CachedAgents))
	gauge(agentBytesDesc, sum(s.Agents, func(r ops.Agent) int64 { return r.Bytes }))
	gauge(processesDesc, float64(s.Counts.Processes))
	resident := sum(s.Processes, func(r ops.Process) int64 { return r.RSSBytes })
	gauge(toolBytesDesc, resident)
	gauge(processBytesDesc, resident)
	gauge(backgroundDesc, float64(len(s.Background)))
	gauge(warningsDesc, float64(len(s.Warnings)))
	for _, a := range s.Adapters {
		gauge(adapterUpDesc, truth(a.State == ops.AdapterConnected), a.Name)
		gauge(adapterQueueDesc, float64(a.Queue), a.Name)
		for _, st := range adapterStates {
			gauge(adapterStateDesc, truth(a.State == st), a.Name, string(st))
		}
	}
	if s.Shutdown == nil {
		return
	}
	for _, p := range s.Shutdown.Phases {
		gauge(phaseDesc, truth(p.State == ops.StepRunning), p.Name)
	}
	gauge(blockersDesc, float64(len(s.Shutdown.Blockers())))
	gauge(deadlineDesc, float64(s.Shutdown.DeadlineAt.UnixMilli())/1000)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

func sum[T any](rows []T, of func(T) int64) float64 {
	var n int64
	for _, r := range rows {
		n += of(r)
	}
	return float64(n)
}
