package tui

import (
	"context"
	"os"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// What the page "talk" reads.
const (
	// talkRows is how many messages one question asks for. talkMost and talkBytes are how many messages, and bytes of their texts, the
	// page holds; further ones are in the verb transcript.
	talkRows  = 60
	talkMost  = 2000
	talkBytes = 8 << 20
	// talkRuns is how often a session with a running turn is looked at, talkRests any other one. Events cut both short.
	talkRuns, talkRests = time.Second, 5 * time.Second
	// talkAgain is after how many looks the newest messages are read again, because a person may have taken some back.
	talkAgain = 15
)

// sought is a message that a search found, to be shown in its conversation.
type sought struct{ session, conversation, message string }

// talkReader reads the conversation of a session.
type talkReader struct {
	session string
	talk    views.Talk
	// of is the id of the conversation that was read, past that it is an earlier one of the session.
	of, found string
	past      bool
	bytes     int
	looks     int
}

// operator is who asks, where the gateway runs in this process. Over the socket the kernel tells it.
func operator() ops.Actor { return ops.Actor{Via: "console", UID: os.Getuid(), PID: os.Getpid()} }

func newTalkReader(session string) *talkReader {
	return &talkReader{session: session, talk: views.Talk{Drawn: &views.Drawn{}}}
}

func (t *talkReader) show(s *views.Screen) { s.Talk = t.talk }

// next asks for the conversation from its end, for what comes behind it, and for older messages when the person scrolls to the first one.
func (t *talkReader) next(m *model) (readQuestion, time.Duration) {
	row := find(m.snapshot().Sessions, t.session, sessionKey)
	current := ""
	if row != nil {
		current = row.ID
	}
	if m.sought.session == t.session && m.sought.message != t.found {
		return t.seek(m.sought, current), 0
	}
	if !t.talk.Read || !t.past && current != "" && current != t.of {
		return t.begin(current), 0
	}
	ms := t.talk.Messages
	open := m.openPage().Name == views.PageTalk
	switch {
	case len(ms) == 0:
		return t.begin(current), t.pause(row)
	case open && t.talk.Older && t.atTop(m):
		return t.older(ms[0].ID), 0
	case t.talk.Newer && open && m.detail.End:
		return t.newer(ms[len(ms)-1].ID), 0
	case t.talk.Newer, t.past:
		return nil, 0
	case t.looks%talkAgain == talkAgain-1:
		return t.again(), t.pause(row)
	}
	return t.newer(ms[len(ms)-1].ID), t.pause(row)
}

// atTop reports whether older messages are wanted: the first one is in sight, and the page may hold more.
func (t *talkReader) atTop(m *model) bool {
	if len(t.talk.Messages) >= talkMost || t.bytes >= talkBytes {
		return false
	}
	if m.detail.End {
		all, shows := views.PageLines(m.screen())
		return all <= shows
	}
	return m.detail.Scroll < 4
}

func (t *talkReader) pause(row *ops.Session) time.Duration {
	if row != nil && (row.Turn != "" || row.Queued > 0) {
		return talkRuns
	}
	return talkRests
}

// name is the session, or the id of an earlier conversation.
func (t *talkReader) name() string {
	if t.past {
		return t.of
	}
	return t.session
}

// begin reads the newest messages of the current conversation.
func (t *talkReader) begin(current string) readQuestion {
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		page, err := c.Transcript(ctx, t.session, ops.MessageQuery{Back: true, Limit: talkRows, By: operator()})
		return func(*model) {
			t.of, t.past, t.looks = current, false, 0
			t.replace(page.Items)
			t.talk.Older, t.talk.Newer = page.Next != "", false
		}, err
	}
}

// seek reads what is around a message.
func (t *talkReader) seek(s sought, current string) readQuestion {
	name, past := t.session, s.conversation != "" && s.conversation != current
	if past {
		name = s.conversation
	}
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		before, err := c.Transcript(ctx, name, ops.MessageQuery{Back: true, Before: s.message, Limit: talkRows / 2, By: operator()})
		if err != nil {
			return nil, err
		}
		after := ""
		if n := len(before.Items); n > 0 {
			after = before.Items[n-1].ID
		}
		page, err := c.Transcript(ctx, name, ops.MessageQuery{After: after, Limit: talkRows, By: operator()})
		return func(m *model) {
			if t.of = current; past {
				t.of = s.conversation
			}
			t.past, t.found, t.looks, m.sought = past, s.message, 0, sought{}
			t.replace(append(before.Items, page.Items...))
			t.talk.Older, t.talk.Newer, t.talk.Found = before.Next != "", page.Next != "", s.message
			if line := views.TalkLine(m.screen()); line >= 0 {
				m.detail.Scroll, m.detail.End = max(line-2, 0), false
			}
		}, err
	}
}

func (t *talkReader) older(before string) readQuestion {
	name := t.name()
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		page, err := c.Transcript(ctx, name, ops.MessageQuery{Back: true, Before: before, Limit: talkRows, By: operator()})
		return func(m *model) {
			m.growAbove(func() {
				t.replace(slices.Concat(page.Items, t.talk.Messages))
				t.talk.Older = page.Next != ""
			})
		}, err
	}
}

func (t *talkReader) newer(after string) readQuestion {
	name := t.name()
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		page, err := c.Transcript(ctx, name, ops.MessageQuery{After: after, Limit: talkRows, By: operator()})
		return func(*model) {
			t.looks++
			t.talk.Newer = page.Next != ""
			if len(page.Items) > 0 {
				t.replace(slices.Concat(t.talk.Messages, page.Items))
				t.cut()
			}
		}, err
	}
}

// again reads the newest messages once more.
func (t *talkReader) again() readQuestion {
	return func(ctx context.Context, c ops.Console) (func(*model), error) {
		page, err := c.Transcript(ctx, t.session, ops.MessageQuery{Back: true, Limit: talkRows, By: operator()})
		return func(*model) {
			t.looks++
			ms := t.talk.Messages
			if len(page.Items) == 0 {
				return
			}
			at := slices.IndexFunc(ms, func(m ops.Message) bool { return m.ID == page.Items[0].ID })
			if at < 0 { // more have come than one page
				return
			}
			for i := range min(len(ms)-at, len(page.Items)) {
				if ms[at+i].Undone != page.Items[i].Undone {
					t.talk.Drawn = &views.Drawn{}
				}
			}
			t.replace(slices.Concat(ms[:at], page.Items))
		}, err
	}
}

func (t *talkReader) replace(messages []ops.Message) {
	t.talk.Read, t.talk.Past = true, t.past
	t.talk.Messages, t.bytes = messages, 0
	for i := range messages {
		t.bytes += len(messages[i].Text)
	}
}

// cut drops the oldest messages of a conversation that has become too long for the page.
func (t *talkReader) cut() {
	n := 0
	for ms := t.talk.Messages; len(ms)-n > talkMost || t.bytes > talkBytes && n < len(ms)-1; n++ {
		t.bytes -= len(ms[n].Text)
	}
	if n > 0 {
		t.talk.Messages, t.talk.Older = t.talk.Messages[n:], true
	}
}
