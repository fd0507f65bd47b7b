package session

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unique"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// entry is a session as the Table holds it: 128 bytes and the text. A gateway keeps every session of its store in memory,
// so the size of an idle one decides the memory for a large store. All access goes through the methods below and
// Table.reposition.
type entry struct {
	// text is the key, followed by those of user, target, platform and id that are not part of the key: the user of
	// "telegram:dm:4711" usually is "4711". With flagCaller its last callerSize bytes are the caller. With flagTitle what is before that is the title and a byte with its length.
	text string
	// id is the ULID. If the id is not a ULID, it is the id's span in text.
	id ulid.ULID
	// place is the session's place in Table.order: ops.SessionPlace when it was last put there, or unplaced.
	place uint64
	// created and activity are microseconds since 1970.
	created, activity   int64
	tokensIn, tokensOut int64
	tokensCached        int64
	// used and window are ContextUsed and ContextWindow of a Session.
	used, window uint32
	cost         float64
	names        unique.Handle[names]
	// mail is nil while nothing waits and nothing is closed.
	mail                   *mailbox
	user, target, platform span
	key                    uint16 // its length
	state                  uint8  // an index of states
	flags                  flags
}

// names are values that many sessions have in common: Agent, Model, Choice and Busy of a Session, and the generation of the config
// that its last turn of this life began with, 0: there was none.
type names struct {
	agent, model, choice string
	busy                 Busy
	generation           int
}

// mailbox is state that few sessions have at one time.
type mailbox struct {
	queue []Message
	// closing keeps new messages in the mailbox while the old conversation's agent and processes are ended, so that the
	// next conversation cannot meet them.
	closing bool
	// gather is until when the last message waits for more of it; zero: it does not.
	gather time.Time
	// began is closed when the next turn begins; nil: nothing waits for one.
	began chan struct{}
	// inLine means that the session is in Table.line, since when, and where.
	inLine bool
	since  time.Time
	place  limit.Place
	// pace is nil for a session whose turns are a minute apart.
	pace *pace
}

// span is a part of an entry's text.
type span struct{ at, n uint16 }

type flags uint8

const (
	flagStored flags = 1 << iota // Session.Stored
	flagSpanID                   // id is a span
	flagCaller                   // text ends with the caller
	flagKey                      // the caller came by key, not by kernel
	flagTitle                    // text has a title
	flagPriced                   // Session.Priced
)

// callerSize is the uid of a caller, in bytes.
const callerSize = 4

// MaxTitle bounds a session's title, in bytes. The rest is cut.
const MaxTitle = 255

// maxName bounds each of a session's texts except the key, in bytes. No platform has longer names; the rest is cut.
const maxName = 8 << 10

// states are the states of a session while no turn runs. An unlisted one is kept as idle: the store checks its rows.
var states = []ops.SessionState{ops.SessionIdle, ops.SessionInterrupted, ops.SessionSuspended}

// set replaces everything of a session except its mailbox. Its key never changes.
func (e *entry) set(s Session) {
	text := s.Key
	pack := func(part string) span {
		part = part[:min(len(part), maxName)]
		at := strings.Index(text, part)
		if at < 0 {
			at = len(text)
			text += part
		}
		return span{uint16(at), uint16(len(part))}
	}
	e.key = uint16(len(s.Key))
	e.user, e.target, e.platform = pack(s.User), pack(s.Target), pack(s.Platform)
	if e.flags = 0; s.Stored {
		e.flags = flagStored
	}
	if s.Priced {
		e.flags |= flagPriced
	}
	e.tokensCached, e.cost = s.TokensCached, s.Cost
	e.used, e.window = uint32(s.ContextUsed), uint32(s.ContextWindow)
	e.names = unique.Make(names{agent: s.Agent, model: s.Model, choice: s.Choice, busy: s.Busy})
	if id, err := ulid.ParseStrict(s.ID); err == nil && id.String() == s.ID {
		e.id = id
	} else {
		p := pack(s.ID)
		binary.LittleEndian.PutUint16(e.id[0:], p.at)
		binary.LittleEndian.PutUint16(e.id[2:], p.n)
		e.flags |= flagSpanID
	}
	if title := cut(s.Title, MaxTitle); title != "" {
		e.flags |= flagTitle
		text += title + string([]byte{byte(len(title))})
	}
	if s.Caller.By != "" {
		e.flags |= flagCaller
		if s.Caller.By == ops.ByKey {
			e.flags |= flagKey
		}
		text += string(binary.LittleEndian.AppendUint32(nil, uint32(s.Caller.UID)))
	}
	e.text = text
	e.created, e.activity = s.Created.UnixMicro(), s.LastActivity.UnixMicro()
	e.tokensIn, e.tokensOut = s.TokensIn, s.TokensOut
	e.setState(s.State)
}

// caller is the sender of the last message over the API. The uid -1, which means none, is returned unchanged.
func (e *entry) caller() ops.Caller {
	if e.flags&flagCaller == 0 {
		return ops.Caller{}
	}
	c := ops.Caller{By: ops.ByKernel, UID: -1}
	if e.flags&flagKey != 0 {
		c.By = ops.ByKey
	}
	if uid := binary.LittleEndian.Uint32([]byte(e.text[len(e.text)-callerSize:])); uid != math.MaxUint32 {
		c.UID = int(uid)
	}
	return c
}

// cut is s, or as many of its whole characters as have at most most bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// title is the session's title; empty if it has none.
func (e *entry) title() string {
	if e.flags&flagTitle == 0 {
		return ""
	}
	text := e.text
	if e.flags&flagCaller != 0 {
		text = text[:len(text)-callerSize]
	}
	last := len(text) - 1
	return text[last-int(text[last]) : last]
}

// Key is the session's key.
func (e *entry) Key() string { return e.text[:e.key] }

func (e *entry) part(p span) string { return e.text[p.at : int(p.at)+int(p.n)] }

// ID makes a string: code that reads many sessions asks for it last.
func (e *entry) ID() string {
	if e.flags&flagSpanID != 0 {
		return e.part(span{binary.LittleEndian.Uint16(e.id[0:]), binary.LittleEndian.Uint16(e.id[2:])})
	}
	return e.id.String()
}

func (e *entry) State() ops.SessionState { return states[e.state] }

// shown is the state of e as an operator sees it; t is its running turn, nil for none.
func (e *entry) shown(t *Turn) ops.SessionState {
	switch {
	case t != nil && !t.now.StalledAt.IsZero():
		return ops.SessionStalled
	case t != nil && t.now.Approval != "":
		return ops.SessionWaitingApproval
	case t != nil && t.waitingFor != "":
		return ops.SessionWaiting
	case t != nil:
		return ops.SessionRunning
	case e.queued() > 0:
		return ops.SessionQueued
	}
	return e.State()
}

func (e *entry) setState(s ops.SessionState) {
	e.state = uint8(max(slices.Index(states, s), 0))
}

func (e *entry) lastActivity() time.Time { return time.UnixMicro(e.activity).UTC() }

// session unpacks e.
func (e *entry) session() Session {
	n := e.names.Value()
	return Session{
		ContextUsed: int(e.used), ContextWindow: int(e.window), TokensCached: e.tokensCached, Cost: e.cost, Priced: e.flags&flagPriced != 0, Agent: n.agent, Model: n.model, Choice: n.choice, Busy: n.busy,
		Key: e.Key(), ID: e.ID(), Platform: e.part(e.platform), User: e.part(e.user), Target: e.part(e.target), State: e.State(),
		Created: time.UnixMicro(e.created).UTC(), LastActivity: e.lastActivity(), TokensIn: e.tokensIn, TokensOut: e.tokensOut,
		Caller: e.caller(), Title: e.title(),
		Stored: e.flags&flagStored != 0,
	}
}

// address records who wrote last, and from where.
func (e *entry) address(user, target string, caller ops.Caller) {
	if e.part(e.user) == user && e.part(e.target) == target && e.caller() == caller {
		return
	}
	s := e.session()
	s.User, s.Target, s.Caller = user, target, caller
	e.set(s)
}

// name sets the title.
func (e *entry) name(title string) {
	s := e.session()
	s.Title = title
	e.set(s)
}

// active records activity at a time. A message of an earlier life that is recovered now makes no session older than it
// is.
func (e *entry) active(at time.Time) { e.activity = max(e.activity, at.UnixMicro()) }

func (e *entry) closing() bool { return e.mail != nil && e.mail.closing }

func (e *entry) queued() int {
	if e.mail == nil {
		return 0
	}
	return len(e.mail.queue)
}

// box is the mailbox of e, made if there is none.
func (e *entry) box() *mailbox {
	if e.mail == nil {
		e.mail = &mailbox{}
	}
	return e.mail
}

func (e *entry) setClosing(on bool) {
	if e.box().closing = on; on {
		e.mail.pace = nil // the next conversation begins without it
	}
	e.trim()
}

// setModel records the model that answered.
func (e *entry) setModel(model string) {
	n := e.names.Value()
	n.model = model
	e.names = unique.Make(n)
}

// trim releases the memory of an empty mailbox.
func (e *entry) trim() {
	if len(e.mail.queue) == 0 && !e.mail.closing && e.mail.began == nil && !e.mail.inLine && e.mail.pace == nil {
		e.mail = nil
	}
}
