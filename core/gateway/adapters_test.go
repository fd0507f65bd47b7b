package gateway

import (
	"testing"

	"gatewaytui/core/ops"
)

func TestAnAdaptersEventSaysTheCause(t *testing.T) {
	row := ops.Adapter{Name: "api", State: ops.AdapterRetrying, Attempt: 5, LastError: "listen on 127.0.0.1:8642: address already in use"}
	l := start(t)
	row.LastError += "\x1b[2J"
	l.g.adapterChanged(row)
	row.State = ops.AdapterConnected // the cause of an earlier failure is not its own
	l.g.adapterChanged(row)
	var texts []string
	l.stop(ops.ModeFast) // it ends the events
	for e := range l.g.events.Follow(t.Context(), 0) {
		if e.Subject == "api" {
			texts = append(texts, e.Text)
		}
	}
	if len(texts) != 2 || texts[0] != "retrying: listen on 127.0.0.1:8642: address already in use␛[2J" || texts[1] != "connected" {
		t.Errorf("the events say %q", texts)
	}
}
