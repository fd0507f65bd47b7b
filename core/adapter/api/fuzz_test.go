package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// maxSessionKey is what a session's key may have, in bytes, in the gateway's table of sessions.
const maxSessionKey = 256

func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		saying("hello"), streaming("hello"),
		body("hi", map[string]any{"user": "alice", "stream_options": map[string]bool{"include_usage": true}, "n": 1}),
		`{"messages":[{"role":"user","content":[{"type":"text","text":"one"},{"type":"image_url"}]}]}`,
		`{"messages":[{"role":"user","content":null},{"role":"tool"}]}`,
		`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto","temperature":0.5,"stop":["a"],"conversation":{"id":"x"}}`,
		`{"messages":null,"user":"\u0000\ud800"}`,
		`{"messages":[{"role":"user","content":"a"}],"stream":null,"stream_options":[]}`,
		`[`, "", "\xff", strings.Repeat("[", 20000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, p := parseRequest(data)
		if p != nil {
			inert(t, p)
			return
		}
		if !json.Valid(data) {
			t.Fatal("it was taken and is not JSON")
		}
		m := q.messages
		if m.results == nil && m.images == nil && strings.TrimSpace(m.text) == "" || !utf8.ValidString(m.text+m.system) {
			t.Errorf("the input is %q", m.text)
		}
		session(t, q, http.Header{})
	})
}

func FuzzSessionKey(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""},
		{"alice", ""},
		{"", "alice"},
		{"alice", "api:user:project"},
		{"", "api:user:"},
		{"", "telegram:dm:4711"},
		{"", "\xff"},
		{"", "a\u202eb"},
		{"", "\x00"},
		{"", strings.Repeat("a", maxName+1)},
		{"", " "},
		{"", "\ue000"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, user, header string) {
		if user != "" && checkName(user, "user") != nil {
			user = ""
		}
		session(t, request{user: user}, http.Header{"X-Session-Key": {header}})
	})
}

// session checks that what names a session of q and h can be a key, and one of this platform.
func session(t *testing.T, q request, h http.Header) {
	t.Helper()
	c := &conn{platform: New(Options{UserIsSession: true})}
	key, who, p := c.sessionOf(q, h)
	if p != nil {
		inert(t, p)
		return
	}
	name, named := strings.CutPrefix(key, userKeys)
	for _, prefix := range []string{chatKeys, requestKeys} {
		if !named {
			name, named = strings.CutPrefix(key, prefix)
		}
	}
	if !named || name == "" || who == "" || len(key) > maxSessionKey || !utf8.ValidString(key) || strings.ContainsFunc(key+who, unicode.IsControl) {
		t.Errorf("user %q and header %q are the session %q of %q", q.user, h.Get("X-Session-Key"), key, who)
	}
}

// inert checks that p is a refusal in OpenAI's shape whose text is only text.
func inert(t *testing.T, p *problem) {
	t.Helper()
	e := failure(t, p.body())
	if p.status != http.StatusBadRequest {
		t.Errorf("refused with %d", p.status)
	}
	if *e.Message == "" || strings.ContainsFunc(*e.Message, unicode.IsControl) || !utf8.ValidString(*e.Message) || len(*e.Message) > 4*maxMessage+16 {
		t.Errorf("refused with the message %q", *e.Message)
	}
}
