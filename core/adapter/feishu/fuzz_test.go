package feishu

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/feishu/longconn"
)

// FuzzEvent: no event makes the adapter panic, and what it makes of one is a message that can be handed on.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{
		`{"header":{"event_id":"1","event_type":"im.message.receive_v1"},"event":{"sender":{"sender_id":{"open_id":"ou_1"},"sender_type":"user"},"message":{"message_id":"om_1","chat_id":"oc_1","chat_type":"group","thread_id":"omt_1","root_id":"om_2","parent_id":"om_3","message_type":"text","content":"{\"text\":\"@_user_1 hi @_user_12 @_all\"}","mentions":[{"key":"@_user_1","id":{"open_id":"ou_bot"},"name":"\u001b[1mbot"}]}}}`,
		`{"header":{"event_id":"1","event_type":"im.message.receive_v1"},"event":{"sender":{"sender_id":{"open_id":"ou_1"},"sender_type":"user"},"message":{"message_id":"om_1","chat_id":"oc_1","chat_type":"p2p","message_type":"post","content":"{\"title\":\"t\",\"content\":[[{\"tag\":\"at\",\"user_id\":\"@_user_1\"},{\"tag\":\"img\",\"image_key\":\"i\"},{\"tag\":\"media\",\"file_key\":\"f\"}]]}"}}}`,
		`{"header":{"event_id":"1","event_type":"im.message.receive_v1"},"event":{"sender":{"sender_id":{"open_id":"ou_1"},"sender_type":"user"},"message":{"message_id":"om_1","chat_id":"oc_1","chat_type":"p2p","message_type":"interactive","content":"{\"header\":{\"title\":{\"content\":\"t\"}},\"elements\":[[{\"text\":\"x\"}]]}"}}}`,
		`{"header":{"event_id":"1","event_type":"card.action.trigger"},"event":{"operator":{"open_id":"ou_1"},"action":{"value":{"say":"/stop","at":"oc_1/omt_1/om_1"}},"context":{"open_chat_id":"oc_1"}}}`,
		`{"header":{"event_id":"1","event_type":"application.bot.menu_v6"},"event":{"operator":{"operator_id":{"open_id":"ou_1"}},"event_key":"stop"}}`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var in envelope
		if decode(text, &in) != nil {
			return
		}
		e, err := in.read("ou_bot")
		if err != nil || e.kind == nothing {
			return
		}
		m := e.message
		if !isID(e.user, userID) || m.Dedupe == "" || m.Session != e.at.session(e.user) || !strings.HasPrefix(m.Session, "feishu:") || strings.ContainsAny(m.Session, " \n\x1b") {
			t.Errorf("%+v", e)
		}
		if at, err := parseAddress(adapter.ChatOf(m.Target)); err != nil || at != e.at {
			t.Errorf("the target %q is %+v: %v", m.Target, at, err)
		}
		for _, file := range m.Files {
			if strings.Count(file.Ref, "/") != 2 || strings.Contains(file.Ref, "..") {
				t.Errorf("the file %+v", file)
			}
		}
	})
}

// FuzzJoin: what is kept of the frames of events is bounded for any frames, and an event is whole or is not handed on.
func FuzzJoin(f *testing.F) {
	f.Add([]byte{2, 0, 1, 2, 1, 1, 2, 0, 2})
	f.Add([]byte{255, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		var j joiner
		now := time.Unix(0, 0)
		for len(script) >= 3 {
			sum, seq, size := script[0], script[1], int(script[2])
			script = script[3:]
			frame := longconn.Frame{Payload: make([]byte, size<<12), Headers: []longconn.Header{
				{Key: longconn.HeaderID, Value: string('a' + rune(size%40))}, {Key: longconn.HeaderSum, Value: number(sum)}, {Key: longconn.HeaderSeq, Value: number(seq)},
			}}
			payload, whole := j.join(frame, now)
			if whole && frame.Number(longconn.HeaderSum) > 1 && len(payload) == 0 {
				t.Error("an event without a payload was handed on")
			}
			total := 0
			for _, one := range j.open {
				total += one.size
			}
			if len(j.open) > maxOpen || j.size > maxFrame || total != j.size {
				t.Fatalf("%d events of %d bytes are kept, %d counted", len(j.open), total, j.size)
			}
			now = now.Add(time.Duration(seq) * time.Second)
		}
	})
}

func number(b byte) string {
	if b > 200 {
		return "-" + strings.Repeat("9", int(b-200))
	}
	return strings.Repeat("1", int(b%3)) + string('0'+rune(b%10))
}

func TestTheFramesOfAnEventAreJoinedInAnyOrder(t *testing.T) {
	var j joiner
	now := time.Unix(0, 0)
	join := func(id string, sum, seq, text string) (string, bool) {
		payload, whole := j.join(longconn.Frame{Payload: []byte(text), Headers: []longconn.Header{
			{Key: longconn.HeaderID, Value: id}, {Key: longconn.HeaderSum, Value: sum}, {Key: longconn.HeaderSeq, Value: seq},
		}}, now)
		return string(payload), whole
	}
	for _, step := range []struct{ id, sum, seq, text, want string }{
		{"a", "3", "2", "C", ""},
		{"b", "2", "0", "1", ""},
		{"a", "3", "0", "A", ""},
		{"a", "3", "0", "A", ""}, // one twice
		{"b", "2", "1", "2", "12"},
		{"a", "3", "1", "B", "ABC"},
		{"a", "3", "1", "B", ""},      // it begins again
		{"a", "2", "0", "x", ""},      // in another way
		{"a", "2", "1", "y", "xy"},    //
		{"c", "2", "2", "x", ""},      // no such place
		{"c", "2", "-1", "x", ""},     // the same
		{"c", "100000", "1", "x", ""}, // too many
		{"", "2", "1", "x", ""},       // of nothing
		{"d", "1", "0", "whole", "whole"},
	} {
		if got, whole := join(step.id, step.sum, step.seq, step.text); got != step.want || whole != (step.want != "") {
			t.Errorf("%+v gave %q, %t", step, got, whole)
		}
	}
	join("late", "2", "0", "x")
	now = now.Add(maxWait + time.Second)
	if got, whole := join("late", "2", "1", "y"); whole {
		t.Errorf("frames more than a minute apart gave %q", got)
	}
}
