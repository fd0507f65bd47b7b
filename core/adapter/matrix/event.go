package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// Types of events (https://spec.matrix.org/latest/client-server-api/#instant-messaging).
const (
	typeMessage   = "m.room.message"
	typeSticker   = "m.sticker"
	typeReaction  = "m.reaction"
	typeEncrypted = "m.room.encrypted"
	typeMember    = "m.room.member"
)

// Kinds of relations of events.
const (
	relThread     = "m.thread"
	relReplace    = "m.replace"
	relAnnotation = "m.annotation"
)

const (
	// maxName bounds a user's name in runes.
	maxName = 64
	// maxQuoted bounds the text of a message that is answered, in bytes.
	maxQuoted = 8 << 10
)

// rawEvent is an event of a room.
type rawEvent struct {
	Type     string          `json:"type"`
	ID       string          `json:"event_id"`
	Sender   string          `json:"sender"`
	State    *string         `json:"state_key"`
	Content  json.RawMessage `json:"content"`
	Unsigned struct {
		Redacted json.RawMessage `json:"redacted_because"`
		Before   json.RawMessage `json:"prev_content"`
	} `json:"unsigned"`
}

// decode reads an event. With an error its Sender may be known all the same.
func decode(text []byte) (e rawEvent, err error) {
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("read an event: %w", err)
	}
	if !knownEvent(e.ID) || e.Sender == "" {
		return e, errors.New("read an event: it has no id or no sender")
	}
	return e, nil
}

// redacted reports whether the content was taken away.
func (e rawEvent) redacted() bool {
	return len(e.Unsigned.Redacted) > 0 && !bytes.Equal(e.Unsigned.Redacted, []byte("null")) || len(bytes.Trim(e.Content, "{} \n")) == 0
}

// membership is what became of the user in the room by this event: join, invite, leave or ban; empty: nothing.
func (e rawEvent) membership(user string) string {
	if e.Type != typeMember || e.State == nil || *e.State != user {
		return ""
	}
	var now, before struct {
		Membership string `json:"membership"`
	}
	if json.Unmarshal(e.Content, &now) != nil {
		return ""
	}
	_ = json.Unmarshal(e.Unsigned.Before, &before) // of the first one there is none
	if now.Membership == before.Membership {       // a new name
		return ""
	}
	return now.Membership
}

// size is a number of bytes; a value that is not one is 0.
type size int64

// UnmarshalJSON implements json.Unmarshaler. It has no error.
func (s *size) UnmarshalJSON(text []byte) error {
	*s = 0
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n > 0 {
		*s = size(n)
	}
	return nil
}

// content is the part of a message that we read, and what we write.
type content struct {
	Kind      string `json:"msgtype,omitempty"`
	Body      string `json:"body,omitempty"`
	Format    string `json:"format,omitempty"`
	Formatted string `json:"formatted_body,omitempty"`
	URL       string `json:"url,omitempty"`
	FileName  string `json:"filename,omitempty"`
	Info      *info  `json:"info,omitempty"`
	// Voice is set for a voice message (MSC3245).
	Voice json.RawMessage `json:"org.matrix.msc3245.voice,omitempty"`
	Geo   string          `json:"geo_uri,omitempty"`
	// Mentions are whom the message names; nil: it does not say.
	Mentions *mentions `json:"m.mentions,omitempty"`
	Relates  *relation `json:"m.relates_to,omitempty"`
	// New takes the place of the message that it relates to.
	New *content `json:"m.new_content,omitempty"`
	// Buttons are what a reaction of that name sends.
	Buttons []button `json:"org.gatewaytui.buttons,omitempty"`
	// Previews are those of links: an empty list has programs show none (MSC4095).
	Previews json.RawMessage `json:"com.beeper.linkpreviews,omitempty"`
}

type info struct {
	Type string `json:"mimetype,omitempty"`
	Size size   `json:"size,omitempty"`
}

type mentions struct {
	Users []string `json:"user_ids,omitempty"`
}

type relation struct {
	Kind  string `json:"rel_type,omitempty"`
	Event string `json:"event_id,omitempty"`
	Key   string `json:"key,omitempty"`
	// Falls means that Answers is only for programs without threads.
	Falls   bool     `json:"is_falling_back,omitempty"`
	Answers *related `json:"m.in_reply_to,omitempty"`
}

type related struct {
	Event string `json:"event_id"`
}

// thread is the first message of the thread that the message is in; empty: none.
func (c content) thread() string {
	if r := c.Relates; r != nil && r.Kind == relThread && knownEvent(r.Event) {
		return r.Event
	}
	return ""
}

// kind is what an event is to us.
type kind int

const (
	nothing  kind = iota // not for the bot
	readable             // a message with a text or a file
	unread               // a message of which nothing can be read
	secret               // an encrypted message
	changed              // a change of a message
	pressed              // a reaction, which may be the press of a button
)

// event is a message as it concerns us. Its session is known once its room is.
type event struct {
	kind    kind
	sender  string
	at      address
	message adapter.Inbound
	// about is the message that a change or a reaction is about, answers the one that this one answers; both empty: none.
	about, answers string
	// key is what a reaction shows, and mine the bot.
	key, mine string
}

// read tells what an event in a room is to the bot. The error says that it is not what its type says.
func (e rawEvent) read(room string, me mine) (event, error) {
	out := event{sender: e.Sender, at: address{room: room}}
	if e.Sender == me.id || !knownUser(e.Sender) || e.State != nil || e.redacted() {
		return event{}, nil
	}
	var c content
	if e.Type != typeEncrypted {
		if err := json.Unmarshal(e.Content, &c); err != nil {
			return event{}, fmt.Errorf("read a message: %w", err)
		}
	}
	out.message = adapter.Inbound{Adapter: "matrix", ID: e.ID, Dedupe: "matrix:" + e.ID, User: e.Sender}
	r := relation{}
	if c.Relates != nil {
		r = *c.Relates
	}
	switch {
	case e.Type == typeEncrypted:
		out.kind = secret
	case e.Type == typeReaction:
		out.press(r, me)
	case e.Type != typeMessage && e.Type != typeSticker, c.Kind == "m.notice":
	case r.Kind == relReplace:
		out.change(r, c.New, me)
	default:
		out.at.thread = c.thread()
		if r.Answers != nil && !r.Falls && knownEvent(r.Answers.Event) {
			out.answers = r.Answers.Event
		}
		out.take(e.Type, c, me)
	}
	return out, nil
}

// press reads a reaction.
func (e *event) press(r relation, me mine) {
	if r.Kind == relAnnotation && knownEvent(r.Event) && r.Key != "" {
		e.kind, e.about, e.key, e.mine = pressed, r.Event, r.Key, me.id
	}
}

// change reads a change of a message.
func (e *event) change(r relation, now *content, me mine) {
	if !knownEvent(r.Event) || now == nil || now.Kind == "m.notice" {
		return
	}
	e.about = r.Event
	e.take(typeMessage, *now, me)
	if e.kind != readable {
		e.kind = nothing
		return
	}
	e.kind, e.message.Edited, e.message.ID = changed, true, r.Event
}

// take reads the text and the file of a message.
func (e *event) take(typed string, c content, me mine) {
	m := &e.message
	said, caption := c.Body, true
	switch {
	case typed == typeSticker:
		c.Kind, c.FileName, caption = "m.image", "", false
	case c.Kind == "m.emote":
		said = "* " + said
	case c.Kind == "m.location":
		said = strings.TrimSpace(said + " (" + term.Clean(c.Geo, maxName) + ")")
	}
	switch c.Kind {
	case "m.image", "m.file", "m.audio", "m.video":
		// The body is a text only next to a name of the file.
		if c.FileName == "" || c.FileName == c.Body {
			caption = false
		}
		if f, is := c.file(); is {
			m.Files = []adapter.File{f}
		}
		if !caption {
			said = ""
		}
	case "m.text", "m.emote", "m.location":
	default:
		said = ""
	}
	if e.answers != "" || e.about != "" {
		said = withoutQuote(said)
	}
	m.Text, m.Mentioned = me.unmention(said, c)
	if e.kind = readable; strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 {
		e.kind = unread
	}
}

// file is the file of a message; false if it names none that can be fetched, such as an encrypted one.
func (c content) file() (f adapter.File, is bool) {
	if len(c.URL) > maxID || !isMedia.MatchString(c.URL) {
		return f, false
	}
	f = adapter.File{Name: cmp.Or(c.FileName, c.Body), Ref: c.URL, Spoken: len(c.Voice) > 0}
	if c.Info != nil {
		f.Type, f.Size = c.Info.Type, int64(c.Info.Size)
	}
	return f, true
}

// withoutQuote takes off the quote that old programs put before an answer
// (https://spec.matrix.org/v1.12/client-server-api/#fallbacks-for-rich-replies).
func withoutQuote(text string) string {
	if !strings.HasPrefix(text, "> <@") && !strings.HasPrefix(text, "> * <@") {
		return text
	}
	rest := text
	for strings.HasPrefix(rest, "> ") {
		_, after, more := strings.Cut(rest, "\n")
		if !more {
			return text
		}
		rest = after
	}
	return strings.TrimPrefix(rest, "\n")
}

// unmention takes the bot's name off the beginning of a text, and reports whether the message names the bot at all. Programs
// that say whom a message mentions are believed; in a text of others the id counts, and the name at its beginning.
func (m mine) unmention(text string, c content) (rest string, named bool) {
	trimmed := strings.TrimSpace(text)
	names := []string{m.id, m.name, "@" + m.local(), m.local()}
	at := 0
	for _, name := range names {
		if n := len(name); n > 0 && len(trimmed) >= n && strings.EqualFold(trimmed[:n], name) && ends(trimmed[n:]) {
			at = n
			break
		}
	}
	switch {
	case c.Mentions != nil:
		named = slices.Contains(c.Mentions.Users, m.id)
	case strings.Contains(text, m.id), strings.Contains(c.Formatted, "matrix.to/#/"+m.id):
		named = true
	default:
		named = at > 0 && strings.ContainsAny(trimmed[at:min(at+1, len(trimmed))], ":,")
	}
	if !named || at == 0 {
		return text, named
	}
	return strings.TrimSpace(strings.TrimLeft(trimmed[at:], ":,")), true
}

// ends reports whether a name before this text ends there.
func ends(rest string) bool {
	for _, r := range rest {
		return r == ':' || r == ',' || unicode.IsSpace(r)
	}
	return true
}

// person is a user for people and for the audit.
func person(id, name string) string {
	if name = term.Clean(name, maxName); name != "" {
		return fmt.Sprintf("%s (%s)", name, id)
	}
	return id
}
