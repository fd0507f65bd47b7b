// Package metrics counts what only the gateway can count, and has the figures of Go's runtime and of this process. The
// control socket computes what a snapshot shows from the snapshot itself.
//
// The values of every label come from fixed sets, or from the configured adapters and models: a name that a chat or a
// caller chooses makes no series. Each series that a message, a turn or a model call counts is made at the start, so that
// counting is one atomic addition.
package metrics

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// Metrics are the counters and gauges of one gateway. Its methods may be called from any goroutine and never wait.
type Metrics struct {
	registry     *prometheus.Registry
	turnsStarted prometheus.Counter
	turnsEnded   map[store.TurnState]prometheus.Counter
	turnSeconds  prometheus.Histogram
	storeSeconds prometheus.Histogram
	platforms    map[string]platformMetrics
	models       map[string]modelMetrics
}

// platformMetrics count the messages of one platform.
type platformMetrics struct{ received, refused, delivered, rejected, failed prometheus.Counter }

// modelMetrics count the calls of one model. Its results are resultOK, resultInterrupted and the kinds of model.Error.
type modelMetrics struct {
	calls               map[string]prometheus.Counter
	seconds             prometheus.Observer
	tokensIn, tokensOut prometheus.Counter
}

// The values of the label result in addition to the kinds of model.Error.
const (
	resultOK          = "ok"
	resultInterrupted = "interrupted"
	resultOther       = "other"
)

// labelOther is the platform of a session, or the model of a call, that the config does not name.
const labelOther = "other"

// Gauges are read at each scrape. They must be cheap and must not wait.
type Gauges struct {
	Ready, Commits, Lives, Outbox, CallsWaiting, Events, EventsMissed func() float64
	Limits                                                            *limit.Set
}

// New returns the metrics for the adapters and models of the config.
func New(adapters, models []string, read Gauges) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), turnsEnded: map[store.TurnState]prometheus.Counter{},
		platforms: map[string]platformMetrics{}, models: map[string]modelMetrics{},
	}
	m.countTurns()
	m.countMessages(adapters)
	m.countCalls(models)
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gatewaytui_ready", Help: "1 while messages are taken, as /readyz says; 0 while starting, draining, stopping, or when the store takes nothing.",
		}, read.Ready),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gatewaytui_store_commits_total", Help: "Transactions that the store committed, each one synchronous write.",
		}, read.Commits),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gatewaytui_lives_total", Help: "Lives that began on this home, this one included; 0 until the store is open.",
		}, read.Lives),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gatewaytui_outbox_messages", Help: "Replies that wait for their platform.",
		}, read.Outbox),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "gatewaytui_model_calls_waiting", Help: "Model calls that wait for a slot of limits.model_calls.",
		}, read.CallsWaiting),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gatewaytui_events_total", Help: "Events that were emitted.",
		}, read.Events),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gatewaytui_events_dropped_total", Help: "Events that readers missed because they were too slow.",
		}, read.EventsMissed),
		limitCollector{read.Limits},
		collectors.NewGoCollector(),
		// process_resident_memory_bytes, process_open_fds and process_cpu_seconds_total are this process's own.
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// counters registers a family of counters.
func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

// countTurns makes the series of turns and of the store.
func (m *Metrics) countTurns() {
	m.turnsStarted = m.counters("gatewaytui_turns_started_total", "Turns that began.").WithLabelValues()
	ended := m.counters("gatewaytui_turns_ended_total", "Turns that ended, by how: done, failed, interrupted.", "state")
	for _, state := range []store.TurnState{store.TurnDone, store.TurnFailed, store.TurnInterrupted} {
		m.turnsEnded[state] = ended.WithLabelValues(string(state))
	}
	m.turnSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "gatewaytui_turn_duration_seconds", Help: "Time from the begin of a turn to its end.",
		Buckets: prometheus.ExponentialBuckets(0.005, 4, 9),
	})
	m.storeSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "gatewaytui_store_transaction_duration_seconds", Help: "Time that a transaction of the store took, committed or not.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	})
	m.registry.MustRegister(m.turnSeconds, m.storeSeconds)
}

// countMessages makes the series of the messages of each platform.
func (m *Metrics) countMessages(adapters []string) {
	received := m.counters("gatewaytui_messages_received_total", "Messages that were accepted, by platform.", "platform")
	refused := m.counters("gatewaytui_messages_refused_total", "Messages that were refused: while draining or stopping, over the queue limit, or not saved.", "platform")
	sent := m.counters("gatewaytui_messages_sent_total", "Replies and notices, by platform and outcome: delivered, rejected (the platform will never take it), failed (a chat is tried again).", "platform", "outcome")
	for _, name := range unique(adapters, "cli", labelOther) {
		m.platforms[name] = platformMetrics{
			received: received.WithLabelValues(name), refused: refused.WithLabelValues(name),
			delivered: sent.WithLabelValues(name, "delivered"), rejected: sent.WithLabelValues(name, "rejected"), failed: sent.WithLabelValues(name, "failed"),
		}
	}
}

// countCalls makes the series of the calls of each model.
func (m *Metrics) countCalls(models []string) {
	calls := m.counters("gatewaytui_model_calls_total", "Model calls that ended, by model and result: ok, interrupted, or the kind of error.", "model", "result")
	tokens := m.counters("gatewaytui_model_tokens_total", "Tokens of model calls, by model and direction: in, out. Zero where the endpoint does not report them.", "model", "direction")
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gatewaytui_model_call_duration_seconds", Help: "Time from a model call to its complete answer or its failure, retries included.",
		Buckets: prometheus.ExponentialBuckets(0.01, 3, 10),
	}, []string{"model"})
	m.registry.MustRegister(seconds)
	for _, name := range unique(models, labelOther) {
		one := modelMetrics{
			calls: map[string]prometheus.Counter{}, seconds: seconds.WithLabelValues(name),
			tokensIn: tokens.WithLabelValues(name, "in"), tokensOut: tokens.WithLabelValues(name, "out"),
		}
		for result := range callResults() {
			one.calls[result] = calls.WithLabelValues(name, result)
		}
		m.models[name] = one
	}
}

// CountAlso adds the counters that the platforms keep themselves.
func (m *Metrics) CountAlso(platforms []adapter.Platform) {
	for _, p := range platforms {
		counting, is := p.(adapter.Counting)
		if !is {
			continue
		}
		for _, c := range counting.Counters() {
			m.registry.MustRegister(prometheus.NewCounterFunc(
				prometheus.CounterOpts{Name: c.Name, Help: c.Help}, func() float64 { return float64(c.Value()) },
			))
		}
	}
}

// callResults are the values of the label result.
func callResults() iter.Seq[string] {
	results := []string{resultOK, resultInterrupted, resultOther}
	for _, kind := range model.Kinds {
		results = append(results, string(kind))
	}
	return slices.Values(results)
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

// platform is what counts the messages of a session.
func (m *Metrics) platform(key string) platformMetrics {
	if p, known := m.platforms[session.Platform(key)]; known {
		return p
	}
	return m.platforms[labelOther]
}

// Received counts a message to the session key, which was refused if err is not nil.
func (m *Metrics) Received(key string, err error) {
	if p := m.platform(key); err == nil {
		p.received.Inc()
	} else {
		p.refused.Inc()
	}
}

// Sent counts a reply or notice of the session key.
func (m *Metrics) Sent(key string, err error) {
	p := m.platform(key)
	_, rejected := errors.AsType[*adapter.RefusedError](err)
	switch {
	case err == nil:
		p.delivered.Inc()
	case rejected:
		p.rejected.Inc()
	default:
		p.failed.Inc()
	}
}

// Called counts a model call that ended.
func (m *Metrics) Called(c agent.Call) {
	one, known := m.models[c.Model]
	if !known {
		one = m.models[labelOther]
	}
	result := resultOther
	failed, is := errors.AsType[*model.Error](c.Err)
	switch {
	case c.Err == nil:
		result = resultOK
	case c.Interrupted, errors.Is(c.Err, context.Canceled), errors.Is(c.Err, model.ErrClosed):
		result = resultInterrupted
	case is:
		result = string(failed.Kind)
	}
	if one.calls[result] == nil {
		result = resultOther
	}
	one.calls[result].Inc()
	one.seconds.Observe(c.Took.Seconds())
	one.tokensIn.Add(float64(max(c.Usage.In, 0)))
	one.tokensOut.Add(float64(max(c.Usage.Out, 0)))
}

// TurnStarted counts a turn that begins.
func (m *Metrics) TurnStarted() { m.turnsStarted.Inc() }

// TurnEnded counts a turn that ended.
func (m *Metrics) TurnEnded(state store.TurnState, seconds float64) {
	if c := m.turnsEnded[state]; c != nil {
		c.Inc()
	}
	m.turnSeconds.Observe(seconds)
}

// Gatherer returns the metrics for the control socket to serve.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Transaction counts a transaction of the store. It never waits.
func (m *Metrics) Transaction(took time.Duration) { m.storeSeconds.Observe(took.Seconds()) }
