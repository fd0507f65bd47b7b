package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/syncbuf"
)

// logged is a log that a test reads.
type logged struct{ syncbuf.Buffer }

// lines are the lines with a message, oldest first.
func (l *logged) lines(t *testing.T, msg string) (out []map[string]any) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimSpace(l.String()), "\n") {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("log line %q: %v", text, err)
		}
		if line["msg"] == msg {
			out = append(out, line)
		}
	}
	return out
}

// D10: what waits is logged with how long the running turn has not moved; what a reset drops is logged by message, and
// its sender gets a notice; what a stop leaves is logged too.
func TestD10_WhatWaitsAndWhatIsDroppedIsLogged(t *testing.T) {
	log := &logged{}
	l := start(t, func(s *setup) { s.log = slog.NewJSONHandler(log, nil) })
	const key = "chat:dm:1"
	check := func(msg, message string, keys ...string) {
		t.Helper()
		for _, line := range log.lines(t, msg) {
			if line["message"] != message {
				continue
			}
			for _, k := range append(keys, "session") {
				if line[k] == nil {
					t.Errorf("%q has no %s: %v", msg, k, line)
				}
			}
			return
		}
		t.Errorf("no line %q names message %s: %v", msg, message, log.lines(t, msg))
	}
	waiting := func(text string) (id string) {
		t.Helper()
		l.say(key, "1", text)
		l.wait("it waits", func() bool { return l.session(key).Queued == 1 })
		rows, err := l.g.recovery.Store().OpenInbox(context.Background())
		if err != nil || len(rows) == 0 || rows[len(rows)-1].Text != text {
			t.Fatalf("open in the inbox: %+v, %v", rows, err)
		}
		return rows[len(rows)-1].ID
	}
	l.say(key, "1", "hang")
	l.running(key)
	dropped := waiting("one")
	check("message waits", dropped, "without_progress", "turn")
	if _, err := l.g.conversations.End(context.Background(), key, conversation.Reset("test")); err != nil {
		t.Fatal(err)
	}
	check("waiting message dropped", dropped, "without_progress", "turn", "reason")
	l.wait("its sender gets a notice", func() bool { return sentBy("The session was reset before it came to this message", l) == 1 })

	l.say(key, "1", "hang")
	l.running(key)
	left := waiting("two")
	asked := l.send("api:user:a", "hang")
	l.running("api:user:a")
	l.send("api:user:a", "three")
	l.stop(ops.ModeFast)
	l.await(asked)
	check("waiting message left to the next life", left)
	if lines := log.lines(t, "waiting message dropped"); len(lines) != 2 || lines[1]["session"] != "api:user:a" {
		t.Errorf("dropped by the stop: %v", lines)
	}
}
