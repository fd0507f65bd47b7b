// Package metrics counts what only the gateway can count, and has the figures of Go's runtime and of this process. The
// control socket computes what a snapshot shows from the snapshot itself.
//
// The values of every label come from fixed sets, or from the configured adapters and models: a name that a chat or a
// caller chooses makes no series. Each series that a message, a turn or a model call counts is there from the start, with
// the value 0.
package metrics

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/approval"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// Metrics are the counters and gauges of one gateway. Its methods may be called from any goroutine and never wait.
type Metrics struct {
	registry                  *prometheus.Registry
	turnsStarted              prometheus.Counter
	turnsEnded                *prometheus.CounterVec
	turnSeconds, storeSeconds prometheus.Histogram
	platforms                 []string // the values of the label platform
	received, refused, sent   *prometheus.CounterVec
	models, results           []string // the values of the labels model and result
	calls, tokens, cost       *prometheus.CounterVec
	fallbacks                 *prometheus.CounterVec
	approvals                 *prometheus.CounterVec
	toolCalls, jobRuns        *prometheus.CounterVec
	callSeconds               *prometheus.HistogramVec
}

// The values of the label result in addition to the kinds of model.Error.
const (
	resultOK          = "ok"
	resultInterrupted = "interrupted"
)

// other is the platform of a session, or the model of a call, that the config does not name, and the result of a call that has
// no kind.
const other = "other"

// turnStates are the values of the label state.
var turnStates = []store.TurnState{store.TurnDone, store.TurnFailed, store.TurnInterrupted}

// Gauges are read at each scrape. They must be cheap and must not wait.
type Gauges struct {
	Ready, Commits, Lives, Outbox, Repeated, CallsWaiting, Events, EventsMissed func() float64
	Limits                                                                      *limit.Set
}

// New returns the metrics for the adapters and models of the config.
func New(adapters, models []string, read Gauges) *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		platforms: unique(adapters, "cli", other), models: unique(models, other),
		results: []string{resultOK, resultInterrupted, other},
	}
	for _, kind := range model.Kinds {
		m.results = append(m.results, string(kind))
	}
	m.countTurns()
	m.countMessages()
	m.countCalls()
	m.approvals = m.counters("gatewaytui_approvals_total", "Steps of tools that asked for an approval, by outcome; granted: an earlier answer allowed it.", "outcome")
	for _, outcome := range approval.Outcomes {
		m.approvals.WithLabelValues(outcome)
	}
	m.countTools()
	gauge := func(name, help string, of func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, of))
	}
	gauge("gatewaytui_ready", "1 while messages are taken, as /readyz says; 0 while starting, draining, stopping, or when the store takes nothing.", read.Ready)
	gauge("gatewaytui_outbox_messages", "Replies that wait for their platform.", read.Outbox)
	gauge("gatewaytui_model_calls_waiting", "Model calls that wait for a slot of limits.model_calls.", read.CallsWaiting)
	m.countWith("gatewaytui_messages_repeated_total", "Messages to chats that were sent again though they may have arrived, and say so.", read.Repeated)
	m.countWith("gatewaytui_store_commits_total", "Transactions that the store committed, each one synchronous write.", read.Commits)
	m.countWith("gatewaytui_lives_total", "Lives that began on this home, this one included; 0 until the store is open.", read.Lives)
	m.countWith("gatewaytui_events_total", "Events that were emitted.", read.Events)
	m.countWith("gatewaytui_events_dropped_total", "Events that readers missed because they were too slow.", read.EventsMissed)
	m.registry.MustRegister(
		limitCollector{read.Limits},
		collectors.NewGoCollector(),
		// process_resident_memory_bytes, process_open_fds and process_cpu_seconds_total are this process's own.
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// countWith registers a counter that is kept elsewhere.
func (m *Metrics) countWith(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

// counters registers a family of counters.
func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(m.registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// countTurns makes the series of turns and of the store.
func (m *Metrics) countTurns() {
	m.turnsStarted = m.counters("gatewaytui_turns_started_total", "Turns that began.").WithLabelValues()
	m.turnsEnded = m.counters("gatewaytui_turns_ended_total", "Turns that ended, by how: done, failed, interrupted.", "state")
	for _, state := range turnStates {
		m.turnsEnded.WithLabelValues(string(state))
	}
	m.turnSeconds = promauto.With(m.registry).NewHistogram(prometheus.HistogramOpts{
		Name: "gatewaytui_turn_duration_seconds", Help: "Time from the begin of a turn to its end.",
		Buckets: prometheus.ExponentialBuckets(0.005, 4, 9),
	})
	m.storeSeconds = promauto.With(m.registry).NewHistogram(prometheus.HistogramOpts{
		Name: "gatewaytui_store_transaction_duration_seconds", Help: "Time that a transaction of the store took, committed or not.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	})
}

// countMessages makes the series of the messages of each platform.
func (m *Metrics) countMessages() {
	m.received = m.counters("gatewaytui_messages_received_total", "Messages that were accepted, by platform.", "platform")
	m.refused = m.counters("gatewaytui_messages_refused_total", "Messages that were refused: while draining or stopping, over the queue limit, or not saved.", "platform")
	m.sent = m.counters("gatewaytui_messages_sent_total", "Replies and notices, by platform and outcome: delivered, rejected (the platform will never take it), failed (a chat is tried again).", "platform", "outcome")
	for _, name := range m.platforms {
		m.received.WithLabelValues(name)
		m.refused.WithLabelValues(name)
		for _, outcome := range []string{"delivered", "rejected", "failed"} {
			m.sent.WithLabelValues(name, outcome)
		}
	}
}

// countCalls makes the series of the calls of each model.
func (m *Metrics) countCalls() {
	m.calls = m.counters("gatewaytui_model_calls_total", "Model calls that ended, by model and result: ok, interrupted, or the kind of error.", "model", "result")
	m.tokens = m.counters("gatewaytui_model_tokens_total", "Tokens of model calls, by model and direction: in, cached (the part of in that came from the model's cache), out. Zero where the endpoint does not report them.", "model", "direction")
	m.cost = m.counters("gatewaytui_model_cost_total", "Money of model calls as far as it is known, by model, in the currency of the prices.", "model")
	m.callSeconds = promauto.With(m.registry).NewHistogramVec(prometheus.HistogramOpts{
		Name: "gatewaytui_model_call_duration_seconds", Help: "Time from a model call to its complete answer or its failure, retries included.",
		Buckets: prometheus.ExponentialBuckets(0.01, 3, 10),
	}, []string{"model"})
	m.fallbacks = m.counters("gatewaytui_model_fallbacks_total", "Model calls that went on to another model after one failed, by the model that failed (from) and the next one (to).", "from", "to")
	for _, name := range m.models {
		for _, to := range m.models {
			if to != name && to != other && name != other {
				m.fallbacks.WithLabelValues(name, to)
			}
		}
		m.callSeconds.WithLabelValues(name)
		m.tokens.WithLabelValues(name, "in")
		m.tokens.WithLabelValues(name, "cached")
		m.cost.WithLabelValues(name)
		m.tokens.WithLabelValues(name, "out")
		for _, result := range m.results {
			m.calls.WithLabelValues(name, result)
		}
	}
}

// CountAlso adds the counters that the platforms keep themselves.
func (m *Metrics) CountAlso(platforms []adapter.Platform) {
	for _, p := range platforms {
		if counting, is := p.(adapter.Counting); is {
			for _, c := range counting.Counters() {
				m.countWith(c.Name, c.Help, func() float64 { return float64(c.Value()) })
			}
		}
	}
}

// unique are the names, sorted and without repeats, as valid label values.
func unique(names []string, more ...string) []string {
	all := slices.Concat(names, more)
	for i := range all {
		all[i] = strings.ToValidUTF8(all[i], "\uFFFD")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// known is value if it is one of a label's values, else other.
func known(value string, values []string) string {
	if slices.Contains(values, value) {
		return value
	}
	return other
}

// Received counts a message to the session key, which was refused if err is not nil.
func (m *Metrics) Received(key string, err error) {
	count := m.received
	if err != nil {
		count = m.refused
	}
	count.WithLabelValues(known(session.Platform(key), m.platforms)).Inc()
}

// Sent counts a reply or notice of the session key.
func (m *Metrics) Sent(key string, err error) {
	outcome := "failed"
	if err == nil {
		outcome = "delivered"
	} else if _, rejected := errors.AsType[*adapter.RefusedError](err); rejected {
		outcome = "rejected"
	}
	m.sent.WithLabelValues(known(session.Platform(key), m.platforms), outcome).Inc()
}

// Called counts a model call that ended.
func (m *Metrics) Called(c agent.Call) {
	name, result := known(c.Model, m.models), other
	failed, is := errors.AsType[*model.Error](c.Err)
	switch {
	case c.Err == nil:
		result = resultOK
	case c.Interrupted, errors.Is(c.Err, context.Canceled), errors.Is(c.Err, model.ErrClosed):
		result = resultInterrupted
	case is:
		result = known(string(failed.Kind), m.results)
	}
	for i, from := range c.Failed {
		to := c.Model
		if i+1 < len(c.Failed) {
			to = c.Failed[i+1]
		}
		m.fallbacks.WithLabelValues(known(from, m.models), known(to, m.models)).Inc()
	}
	m.calls.WithLabelValues(name, result).Inc()
	m.callSeconds.WithLabelValues(name).Observe(c.Took.Seconds())
	m.tokens.WithLabelValues(name, "in").Add(float64(max(c.Usage.In, 0)))
	m.tokens.WithLabelValues(name, "cached").Add(float64(max(c.Usage.Cached, 0)))
	m.cost.WithLabelValues(name).Add(max(c.Usage.Cost, 0))
	m.tokens.WithLabelValues(name, "out").Add(float64(max(c.Usage.Out, 0)))
}

// TurnStarted counts a turn that begins.
func (m *Metrics) TurnStarted() { m.turnsStarted.Inc() }

// TurnEnded counts a turn that ended.
func (m *Metrics) TurnEnded(state store.TurnState, seconds float64) {
	if slices.Contains(turnStates, state) {
		m.turnsEnded.WithLabelValues(string(state)).Inc()
	}
	m.turnSeconds.Observe(seconds)
}

// Gatherer returns the metrics for the control socket to serve.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Transaction counts a transaction of the store. It never waits.
func (m *Metrics) Transaction(took time.Duration) { m.storeSeconds.Observe(took.Seconds()) }

// limitCollector is the metrics of the bounds. Their names are the only values of the label.
type limitCollector struct{ set *limit.Set }

// Describe sends none: which bounds there are is known at the scrape.
func (limitCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c limitCollector) Collect(ch chan<- prometheus.Metric) {
	for _, row := range c.set.Rows() {
		send := func(name, help string, kind prometheus.ValueType, v float64) {
			ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, []string{"limit"}, nil), kind, v, row.Name)
		}
		send("gatewaytui_limit_reached_total", "How often something waited for a bound of the config or was refused for it, by bound.", prometheus.CounterValue, float64(row.Reached))
		send("gatewaytui_limit_used", "What is in use of a bound of the config; of one per turn, session or process tree the largest figure of any of them.", prometheus.GaugeValue, float64(row.Used))
		send("gatewaytui_limit_bound", "The configured value of a bound.", prometheus.GaugeValue, float64(row.Bound))
		send("gatewaytui_limit_waiting", "How many wait for a bound of the config.", prometheus.GaugeValue, float64(row.Waiting))
	}
}

// Approval counts a step that asked for an approval, by one of approval.Outcomes.
func (m *Metrics) Approval(outcome string) { m.approvals.WithLabelValues(outcome).Inc() }
