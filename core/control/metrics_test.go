package control

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"gatewaytui/core/ops"
)

func TestMetricsShowWhatTheConsoleShows(t *testing.T) {
	extra := prometheus.NewRegistry()
	turns := prometheus.NewCounter(prometheus.CounterOpts{Name: "gatewaytui_turns_total", Help: "Turns."})
	extra.MustRegister(turns)
	turns.Inc()
	f := newFake()
	f.snapshot = func(context.Context) (ops.Snapshot, error) {
		s, err := newFake().Snapshot(context.Background())
		down, _ := newFake().Shutdown(context.Background())
		s.Shutdown = &down
		s.Adapters[0].Name = "api\xff"
		s.Servers = []ops.Server{{Name: "files", State: ops.ServerReady}, {Name: "github", State: ops.ServerFailed}, {Name: "web", State: ops.ServerReady}}
		s.Jobs, s.Held = []ops.Job{{Name: "morning", State: ops.JobPaused}}, []ops.Held{{Kind: ops.HeldBrowser}}
		return s, err
	}
	r := serve(t, f, func(o *Options) { o.Gatherer = extra })
	status, body := r.ask(t, "GET", "/metrics", "")
	if status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	for _, want := range []string{
		"gatewaytui_up 1", "gatewaytui_sessions 3", "gatewaytui_running_turns 1", "gatewaytui_cached_agents 2", "gatewaytui_processes 4",
		"gatewaytui_uptime_seconds 61.5", `gatewaytui_state{state="running"} 1`, `gatewaytui_state{state="draining"} 0`,
		`gatewaytui_adapter_up{adapter="telegram"} 0`, `gatewaytui_adapter_state{adapter="telegram",state="retrying"} 1`,
		`gatewaytui_adapter_up{adapter="api` + "\uFFFD" + `"} 1`, `gatewaytui_adapter_queued_sends{adapter="telegram"} 5`,
		"gatewaytui_queued_messages 2", "gatewaytui_background_tasks 0", `gatewaytui_shutdown_phase{phase="drain"} 1`,
		`gatewaytui_shutdown_phase{phase="mark"} 0`, "gatewaytui_shutdown_blockers 1", `gatewaytui_build_info{version="1.2.3"} 1`,
		"gatewaytui_turns_total 1",
		`gatewaytui_servers{state="ready"} 2`, `gatewaytui_servers{state="failed"} 1`, `gatewaytui_servers{state="idle"} 0`,
		`gatewaytui_jobs{state="paused"} 1`, `gatewaytui_jobs{state="failed"} 0`, `gatewaytui_held{kind="browser"} 1`, `gatewaytui_held{kind="acp"} 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	f.snapshot = func(context.Context) (ops.Snapshot, error) { return ops.Snapshot{}, errors.New("stuck") }
	if status, body := r.ask(t, "GET", "/metrics", ""); status != 200 || !strings.Contains(body, "gatewaytui_up 0\n") || !strings.Contains(body, "gatewaytui_turns_total 1\n") {
		t.Errorf("a gateway without a snapshot: %d %s", status, body)
	}
}

func TestProfilesAreServed(t *testing.T) {
	r := serve(t, newFake())
	for path, want := range map[string]string{
		"/debug/pprof/":                    "goroutine",
		"/debug/pprof/goroutine?debug=2":   "goroutine ",
		"/debug/pprof/cmdline":             "control",
		"/debug/pprof/trace?seconds=0.001": "",
	} {
		if status, body := r.ask(t, "GET", path, ""); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.100s", path, status, body)
		}
	}
}
