package gateway

import (
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/rates"
	"gatewaytui/core/store"
)

// meter counts turns and model calls for the metrics and for the rates.
type meter struct{ g *Gateway }

// TurnStarted implements conversation.Meter. Turns that are over before the next sample are in the peaks, too.
func (m meter) TurnStarted() {
	m.g.metrics.TurnStarted()
	c := m.g.table.Counts()
	m.g.rates.Sampled(time.Now(), rates.Levels{Running: c.Turns, Queued: c.Queued})
}

// TurnEnded implements conversation.Meter.
func (m meter) TurnEnded(ended ops.TurnEnded) {
	m.g.metrics.TurnEnded(store.TurnState(ended.State), float64(ended.ElapsedMS)/1000)
	m.g.rates.TurnEnded(time.Now(), ended)
}

// called counts a model call that ended.
func (m meter) called(c agent.Call) {
	m.g.metrics.Called(c)
	now := time.Now()
	if c.FirstByte > 0 {
		m.g.rates.Answered(now.Add(c.FirstByte-c.Took), c.FirstByte)
	}
	m.g.rates.Called(now, c.Usage.In, c.Usage.Out, c.Usage.Cost)
}

// levels reads what the rates keep the peaks of. It reads memory, and one file of /proc.
func (g *Gateway) levels() rates.Levels {
	c := g.table.Counts()
	l := rates.Levels{Running: c.Turns, Queued: c.Queued, RSSBytes: process.Resident()}
	l.ToolsBytes, l.Processes = g.procs.Use()
	return l
}
