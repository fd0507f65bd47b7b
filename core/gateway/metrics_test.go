package gateway

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// counted is the value of a counter or gauge, or the number of observations of a histogram.
func counted(t *testing.T, g *Gateway, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := g.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	series:
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if labels[l.GetName()] != l.GetValue() {
					continue series
				}
			}
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				return m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				return m.GetGauge().GetValue()
			default:
				return float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	t.Fatalf("no series %s%v", name, labels)
	return 0
}

func TestTheMetricsCountWhatWasDone(t *testing.T) {
	l := start(t)
	l.ask("cli:local", "hello")
	l.ask("api:user:alice", "sh: true")
	l.say("chat:dm:1", "1", "hello")
	l.wait("the chat has its answer", func() bool { return len(l.chat.messages()) == 1 })
	l.wait("all turns have ended", func() bool {
		return counted(t, l.g, "gatewaytui_turns_ended_total", map[string]string{"state": "done"}) == 3
	})
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"gatewaytui_turns_started_total", nil, 3},
		{"gatewaytui_turns_ended_total", map[string]string{"state": "failed"}, 0},
		{"gatewaytui_turn_duration_seconds", nil, 3},
		{"gatewaytui_messages_received_total", map[string]string{"platform": "cli"}, 1},
		{"gatewaytui_messages_received_total", map[string]string{"platform": "chat"}, 1},
		{"gatewaytui_messages_received_total", map[string]string{"platform": "other"}, 1}, // no adapter api here
		{"gatewaytui_messages_sent_total", map[string]string{"platform": "chat", "outcome": "delivered"}, 1},
		{"gatewaytui_messages_sent_total", map[string]string{"platform": "cli", "outcome": "delivered"}, 1},
		{"gatewaytui_messages_sent_total", map[string]string{"platform": "chat", "outcome": "failed"}, 0},
		{"gatewaytui_model_calls_total", map[string]string{"model": "scripted-by-test", "result": "ok"}, 4}, // the tool's turn has two
		{"gatewaytui_model_call_duration_seconds", map[string]string{"model": "scripted-by-test"}, 4},
		{"gatewaytui_model_tokens_total", map[string]string{"model": "scripted-by-test", "direction": "in"}, 9},
		{"gatewaytui_model_tokens_total", map[string]string{"model": "scripted-by-test", "direction": "out"}, 6},
		{"gatewaytui_lives_total", nil, 1},
		{"gatewaytui_outbox_messages", nil, 0},
		{"gatewaytui_events_dropped_total", nil, 0},
	} {
		if got := counted(t, l.g, c.name, c.labels); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if goroutines := counted(t, l.g, "go_goroutines", nil); goroutines < 5 {
		t.Errorf("%v goroutines", goroutines)
	}
	if resident := counted(t, l.g, "process_resident_memory_bytes", nil); resident < 1<<20 {
		t.Errorf("this process has %v resident bytes", resident)
	}
}
