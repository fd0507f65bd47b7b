package metrics

import (
	"cmp"
	"strings"

	"gatewaytui/core/ops"
)

// Values of the label tool in addition to the names of the gateway's own tools.
const (
	toolOfServer = "server" // the tools of MCP servers have names from outside
	serverMark   = "__"     // stands between the server's name and the tool's
)

// toolResults are the results of a call of a tool, and jobResults those of a run of a job.
var (
	toolResults = []string{resultOK, ops.TimelineFailed, resultInterrupted, ops.TimelineNotRun}
	jobResults  = []string{string(ops.JobRunDone), string(ops.JobRunFailed), string(ops.JobRunInterrupted), string(ops.JobRunSkipped)}
)

// countTools makes the series of the calls of tools and of the runs of jobs. A tool's series begin with its first call.
func (m *Metrics) countTools() {
	m.toolCalls = m.counters("gatewaytui_tool_calls_total", "Calls of tools that ended, by tool and result: ok, failed, interrupted, not run. The tools of MCP servers are counted as server.", "tool", "result")
	m.jobRuns = m.counters("gatewaytui_job_runs_total", "Runs of jobs that ended, by result: done, failed, interrupted, skipped.", "result")
	for _, result := range jobResults {
		m.jobRuns.WithLabelValues(result)
	}
}

// ToolCalled counts a call of a tool that ended. own are the names of the gateway's own tools; an empty result is a call that was done.
func (m *Metrics) ToolCalled(own []string, name, result string) {
	called := known(name, own)
	if called == other && strings.Contains(name, serverMark) {
		called = toolOfServer
	}
	m.toolCalls.WithLabelValues(called, known(cmp.Or(result, resultOK), toolResults)).Inc()
}

// JobEnded counts a run of a job that ended.
func (m *Metrics) JobEnded(result ops.JobResult) {
	m.jobRuns.WithLabelValues(known(string(result), jobResults)).Inc()
}
