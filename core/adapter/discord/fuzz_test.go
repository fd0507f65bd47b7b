package discord

import (
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// FuzzFrame: no frame of the gateway makes the adapter panic, and what it makes of one is a message that can be handed on.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"op":10,"d":{"heartbeat_interval":41250},"s":null,"t":null}`, `{"op":9,"d":false}`, `{"op":11}`, `{"op":0,"t":"READY","s":1,"d":{"session_id":"x","user":{"id":"900"}}}`,
		`{"op":0,"t":"MESSAGE_CREATE","s":2,"d":{"id":"1","channel_id":"2","guild_id":"3","content":"<@900> hi","author":{"id":"4","username":"a"},"attachments":[{"id":"5"}]}}`,
		`{"op":0,"t":"INTERACTION_CREATE","s":3,"d":{"id":"1","type":2,"channel_id":"2","user":{"id":"4"},"data":{"name":"ask","options":[{"name":"text","value":7}]}}}`,
		`{"op":0,"t":"INTERACTION_CREATE","s":3,"d":{"id":"1","type":3,"channel_id":"2","user":{"id":"4"},"data":{"custom_id":"x"}}}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		f, err := decode(text)
		if err != nil {
			return
		}
		var e event
		switch data := f.event.(type) {
		case nil:
			if f.Op == opDispatch {
				t.Fatal("an event of the session was not read")
			}
		case *hello:
			if every := data.every(); every > maxBeat {
				t.Errorf("a heartbeat every %s", every)
			}
		case *message:
			e = data.read(900)
		case *change:
			e = data.read(900)
		case *interaction:
			e = data.read()
		}
		if e.kind == nothing {
			return
		}
		m := e.message
		if e.user <= 0 || e.channel <= 0 || m.Dedupe == "" || !strings.HasPrefix(e.session(channel{}), "discord:") || m.Sender != term.Clean(m.Sender, maxName) {
			t.Errorf("%+v", e)
		}
		for _, file := range m.Files {
			if strings.Count(file.Ref, "/") != 2 {
				t.Errorf("the file %+v", file)
			}
		}
		if _, err := parseID(adapter.ChatOf(m.Target)); err != nil {
			t.Error(err)
		}
	})
}
