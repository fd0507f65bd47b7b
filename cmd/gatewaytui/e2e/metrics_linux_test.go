package e2e

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"gatewaytui/fixtures/eventually"
)

// What Prometheus reads on the metrics port is right in its form, is what the socket serves, and ends with the gateway.
func TestPrometheusReadsTheMetricsPort(t *testing.T) {
	g := start(t, newHome(t), "[metrics]\nlisten = \"127.0.0.1:0\"\n")
	if _, status := g.chat("alice", "hello"); status != http.StatusOK {
		t.Fatalf("a chat: %d", status)
	}
	var s struct {
		MetricsListen string `json:"metrics_listen"`
	}
	eventually.True(t, "status tells the metrics port", func() bool {
		g.socket(http.MethodGet, "/v1/status", nil, &s)
		return s.MetricsListen != ""
	})
	onSocket := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", g.home+"/control.sock")
	}}}
	for name, from := range map[string]struct {
		client *http.Client
		url    string
	}{"port": {http.DefaultClient, "http://" + s.MetricsListen + "/metrics"}, "socket": {onSocket, "http://gateway/metrics"}} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, err := from.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			text, err := io.ReadAll(a.Body)
			if err != nil || a.StatusCode != http.StatusOK {
				t.Fatalf("%d %v", a.StatusCode, err)
			}
			checkMetrics(t, text)
		})
	}
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if l, err := net.Listen("tcp", s.MetricsListen); err != nil {
		t.Errorf("the port is not free after the stop: %v", err)
	} else {
		l.Close()
	}
}

// checkMetrics parses text as Prometheus does, has its linter look at it, and finds the figures that an operator needs.
func checkMetrics(t *testing.T, text []byte) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("the text does not parse: %v", err)
	}
	for name, want := range map[string]string{
		"gatewaytui_turns_ended_total": "COUNTER", "gatewaytui_messages_received_total": "COUNTER", "gatewaytui_messages_sent_total": "COUNTER",
		"gatewaytui_model_tokens_total": "COUNTER", "gatewaytui_model_calls_total": "COUNTER", "gatewaytui_model_call_duration_seconds": "HISTOGRAM",
		"gatewaytui_lives_total": "COUNTER", "gatewaytui_events_dropped_total": "COUNTER", "gatewaytui_queued_messages": "GAUGE",
		"gatewaytui_outbox_messages": "GAUGE", "gatewaytui_adapter_queued_sends": "GAUGE", "gatewaytui_tool_processes_resident_bytes": "GAUGE",
		"gatewaytui_process_resident_bytes": "GAUGE", "go_goroutines": "GAUGE", "go_memstats_heap_alloc_bytes": "GAUGE", "go_gc_duration_seconds": "SUMMARY",
		"process_open_fds": "GAUGE", "process_resident_memory_bytes": "GAUGE",
	} {
		f := families[name]
		if f == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if f.GetType().String() != want || f.GetHelp() == "" {
			t.Errorf("%s is a %s with the help %q, want a %s", name, f.GetType(), f.GetHelp(), want)
		}
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("lint: %s: %s", p.Metric, p.Text)
	}
	if !bytes.Contains(text, []byte(`gatewaytui_messages_received_total{platform="api"} 1`)) || bytes.Contains(text, []byte("alice")) {
		t.Errorf("the chat's message is not counted, or its session is in a label:\n%s", text)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed (Debian: prometheus): its own check was left out")
		return
	}
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
