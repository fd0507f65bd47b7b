package matrix

import (
	"encoding/json"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
)

// FuzzEvent: no event of a room makes the adapter panic, and what it makes of one is a message that can be handed on.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"type":"m.room.message","event_id":"$1","sender":"@a:b","content":{"msgtype":"m.text","body":"hi","m.mentions":{"user_ids":["@me:b"]}}}`,
		`{"type":"m.room.message","event_id":"$1","sender":"@a:b","content":{"msgtype":"m.image","body":"hi","filename":"x","url":"mxc://b/c","info":{"size":1e9}}}`,
		`{"type":"m.room.message","event_id":"$1","sender":"@a:b","content":{"msgtype":"m.text","body":"> <@me:b> x\n\ny","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}}`,
		`{"type":"m.room.message","event_id":"$1","sender":"@a:b","content":{"body":"* x","m.new_content":{"msgtype":"m.text","body":"x"},"m.relates_to":{"rel_type":"m.replace","event_id":"$0"}}}`,
		`{"type":"m.reaction","event_id":"$1","sender":"@a:b","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$0","key":"👍"}}}`,
		`{"type":"m.room.encrypted","event_id":"$1","sender":"@a:b","content":{"ciphertext":1}}`, `{"type":"m.sticker","event_id":"$1","sender":"@a:b","content":{}}`,
		`{"type":"m.room.member","event_id":"$1","sender":"@a:b","state_key":"@me:b","content":{"membership":"join"},"unsigned":{"prev_content":{"membership":"invite"}}}`,
		`{"unsigned":{"redacted_because":null}}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	me := mine{id: "@me:b", name: "Me"}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decode(text)
		if err != nil {
			return
		}
		e.membership(me.id)
		got, err := e.read("!room:b", me)
		if err != nil || got.kind == nothing {
			return
		}
		m := got.message
		if !knownUser(got.sender) || got.sender == me.id || m.Dedupe != "matrix:"+e.ID || m.ID == "" {
			t.Errorf("%+v", got)
		}
		for _, private := range []bool{false, true} {
			if key := got.at.session(got.sender, private); !strings.HasPrefix(key, "matrix:") || len(key) > maxKey {
				t.Errorf("the session %q", key)
			}
		}
		for _, file := range m.Files {
			if !isMedia.MatchString(file.Ref) || file.Size < 0 {
				t.Errorf("the file %+v", file)
			}
		}
		if at, err := parseAddress(got.at.String() + "#" + m.ID); err != nil || at != got.at || answered(got.at.String()+"#"+m.ID) != m.ID {
			t.Errorf("the target %q is read as %+v, %v", got.at, at, err)
		}
	})
}

// FuzzBatch: no answer of a /sync is more than an error.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(`{"next_batch":"s1","rooms":{"join":{"!a:b":{"timeline":{"events":[{}],"limited":true}}},"invite":{"!c:d":{"invite_state":{"events":[1]}}},"leave":{"x":{}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b batch
		if json.Unmarshal(text, &b) != nil {
			return
		}
		for room, j := range b.Rooms.Join {
			for _, raw := range j.Timeline.Events {
				if e, err := decode(raw); err == nil && !knownEvent(e.ID) {
					t.Errorf("in %s: %q", room, e.ID)
				}
			}
		}
	})
}

func TestWhatAnIDIs(t *testing.T) {
	for _, tc := range []struct {
		is   func(string) bool
		good []string
		bad  []string
	}{
		{knownRoom, []string{"!a:b", "!aB3_-:matrix.example.org:8448", "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM", "!a:[::1]:80"}, []string{"", "!", "a:b", "!a b:c", "!a/b:c", "!a:b/$c", "!a:b#c", "!a:b c", "!" + strings.Repeat("a", maxID)}},
		{knownEvent, []string{"$a", "$a:b", "$Rqnc-F-dvnEYJTyHq_iKxU2bZ1CI92-kuZq3a5lr5Zg", "$acR1l0raoZnm60CBwAVgqbZqoO/mYU81xysh1u7XcJk"}, []string{"", "$", "a", "$a b", "$a?b", "$a#b"}},
		{knownUser, []string{"@a:b", "@a.b_c=d-e+g:h.i:80", "@Old:b"}, []string{"", "@a", "a:b", "@:b", "@a b:c", "@a\x1b:c", "@a:b)", "@(x):b", "@a/b:c", "@" + strings.Repeat("a", maxUser) + ":b"}},
	} {
		for _, id := range tc.good {
			if !tc.is(id) {
				t.Errorf("%q is not one", id)
			}
		}
		for _, id := range tc.bad {
			if tc.is(id) {
				t.Errorf("%q is one", id)
			}
		}
	}
	long := address{"!" + strings.Repeat("r", 200) + ":example.org", "$" + strings.Repeat("t", 200)}
	other := address{"!" + strings.Repeat("r", 201) + ":example.org", long.thread}
	if a, b := long.session(owner, false), other.session(owner, false); len(a) > maxKey || a == b || adapter.ChatOf(long.String()) != long.String() {
		t.Errorf("the sessions are %q and %q", a, b)
	}
}
