package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// FuzzEnvelope: no frame of Slack's makes the adapter panic, and what it makes of one is a message that can be handed on.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"type":"hello","num_connections":1}`, `{"type":"disconnect","reason":"warning"}`, `{"type":"events_api","payload":{"event":{"type":"user_change","user":{}}}}`,
		`{"type":"events_api","payload":{"team_id":"T1","event":{"type":"message","channel":"C1","user":"U1","text":"<@U900> hi <https://x|y>","ts":"1.2","thread_ts":"1.1","parent_user_id":"U900","files":[{"id":"F1"}],"attachments":[{"is_share":true,"text":"<@U1>"}]}}}`,
		`{"type":"events_api","payload":{"event":{"type":"message","subtype":"message_changed","channel":"D1","message":{"user":"U1","text":"b","ts":"1.2","edited":{"ts":"1.3"}},"previous_message":{"text":"a"}}}}`,
		`{"type":"interactive","payload":{"type":"block_actions","user":{"id":"U1","username":"a"},"channel":{"id":"C1"},"message":{"thread_ts":"1.2"},"actions":[{"block_id":"gatewaytui-1","value":"x","action_ts":"1.3"}]}}`,
		`{"type":"slash_commands","payload":{"command":"/x","text":"y","user_id":"U1","channel_id":"C1","trigger_id":"1.2"}}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	me := self{User: "U900", Team: "T42"}
	f.Fuzz(func(t *testing.T, text []byte) {
		var from envelope
		if json.Unmarshal(text, &from) != nil {
			return
		}
		var all []event
		for _, read := range []func() (event, error){
			func() (event, error) { return readEvent(from.Payload, me) },
			func() (event, error) { return readPress(from.Payload, me) },
			func() (event, error) { return readCommand(from.Payload, me, DefaultCommand) },
		} {
			if e, err := read(); err == nil && e.kind != nothing {
				all = append(all, e)
			}
		}
		for _, e := range all {
			m := e.message
			if !isID(e.user) || !isID(e.channel) || e.user == me.User || m.Dedupe == "" || !strings.HasPrefix(m.Session, "slack:") || m.Sender != term.Clean(m.Sender, maxName) {
				t.Errorf("%+v", e)
			}
			to, _, err := parseTarget(m.Target)
			if err != nil || to.channel != e.channel {
				t.Errorf("the target %q: %v", m.Target, err)
			}
			for _, target := range []string{adapter.ChatOf(m.Target), e.at.String()} {
				if _, _, err := parseTarget(target); err != nil {
					t.Error(err)
				}
			}
			for _, file := range m.Files {
				if !isID(file.Ref) {
					t.Errorf("the file %+v", file)
				}
			}
		}
	})
}

// FuzzReadable: no text of Slack's makes the adapter panic, and one without its markup stays as it is.
func FuzzReadable(f *testing.F) {
	for _, seed := range []string{"a &lt; b &amp;amp; c", "<@U900|x> <#C1|y> <!subteam^S1|@z> <https://a|b>", "<", "<>", "<@>", "<@U900", "<|>", "<!date^1^{date}|today>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := func(string) string { return "" }
		readable(text, name)
		if rest, named, others := unmention(text, "U900"); named && (others || len(rest) > len(text)) {
			t.Errorf("%q became %q", text, rest)
		}
		if got := readable(escaped.Replace(text), name); got != text {
			t.Errorf("%q was read as %q", text, got)
		}
	})
}
