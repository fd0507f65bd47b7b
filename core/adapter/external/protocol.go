package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gatewaytui/core/adapter"
)

// version is the version of the protocol.
const version = 1

// Types of lines.
const (
	typeHello   = "hello"
	typeSend    = "send"
	typeEdit    = "edit"
	typeDelete  = "delete"
	typeTyping  = "typing"
	typeReact   = "react"
	typeFile    = "file"
	typeFetch   = "fetch"
	typeMenu    = "menu"
	typePing    = "ping"
	typeTook    = "took"
	typeRefused = "refused"
	typeLater   = "later"
	typeStop    = "stop"

	typeReady   = "ready"
	typeFailed  = "failed"
	typeMessage = "message"
	typeResult  = "result"
)

// Codes of failures and of errors.
const (
	codeCredentials = "credentials"
	codeConflict    = "conflict"
	codeRateLimit   = "rate_limit"
	codeRefused     = "refused"
	codeUnsent      = "unsent"
)

// command is a line that the gateway writes. It has the fields of its Type.
type command struct {
	Type      string         `json:"type"`
	Version   int            `json:"version,omitempty"`
	Adapter   string         `json:"adapter,omitempty"`
	Settings  map[string]any `json:"settings,omitempty"`
	Groups    []string       `json:"groups,omitempty"`
	Seq       int64          `json:"seq,omitempty"`
	ID        int64          `json:"id,omitempty"`
	Chat      string         `json:"chat,omitempty"`
	Message   string         `json:"message,omitempty"`
	Text      string         `json:"text,omitempty"`
	Markdown  bool           `json:"markdown,omitempty"`
	Reply     string         `json:"reply,omitempty"`
	Key       string         `json:"key,omitempty"`
	Buttons   [][]button     `json:"buttons,omitempty"`
	Passing   bool           `json:"passing,omitempty"`
	Emoji     string         `json:"emoji,omitempty"`
	Name      string         `json:"name,omitempty"`
	MediaType string         `json:"media_type,omitempty"`
	Content   []byte         `json:"content,omitempty"`
	Caption   string         `json:"caption,omitempty"`
	Ref       string         `json:"ref,omitempty"`
	Most      int64          `json:"most,omitempty"`
	Commands  []menuCommand  `json:"commands,omitempty"`
}

type button struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

type menuCommand struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// encode is the command as a line, with its end.
func (c command) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("write a line of the protocol: %w", err)
	}
	return b.Bytes(), nil
}

// ready says that the program is connected.
type ready struct {
	Type      string       `json:"type"`
	Version   int          `json:"version"`
	Abilities list[string] `json:"abilities,omitempty"`
	Bounds    bounds       `json:"bounds,omitzero"`
}

// bounds are those of all chats of the program; 0 is none.
type bounds struct {
	Message  int   `json:"message,omitempty"`
	Messages int   `json:"messages,omitempty"`
	Edits    int   `json:"edits,omitempty"`
	TypingMS int64 `json:"typing_ms,omitempty"`
	File     int64 `json:"file,omitempty"`
}

// failed says that the program cannot connect, or not go on.
type failed struct {
	Type     string `json:"type"`
	Code     string `json:"code,omitempty"`
	Text     string `json:"text,omitempty"`
	Variable string `json:"variable,omitempty"`
	RetryMS  int64  `json:"retry_ms,omitempty"`
}

// message is a message of a chat.
type message struct {
	Type      string           `json:"type"`
	Seq       int64            `json:"seq"`
	ID        string           `json:"id"`
	Chat      string           `json:"chat"`
	Kind      adapter.ChatKind `json:"kind"`
	Group     string           `json:"group,omitempty"`
	User      user             `json:"user"`
	Text      string           `json:"text,omitempty"`
	Mentioned bool             `json:"mentioned,omitempty"`
	Quoted    string           `json:"quoted,omitempty"`
	Edited    bool             `json:"edited,omitempty"`
	Forwarded bool             `json:"forwarded,omitempty"`
	Files     list[file]       `json:"files,omitempty"`
}

type user struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type file struct {
	Ref       string `json:"ref"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size,omitempty"`
	Spoken    bool   `json:"spoken,omitempty"`
}

// result answers a request.
type result struct {
	Type     string       `json:"type"`
	ID       int64        `json:"id"`
	Messages list[string] `json:"messages,omitempty"`
	Content  []byte       `json:"content,omitempty"`
	QuietMS  int64        `json:"quiet_ms,omitempty"`
	Error    *failure     `json:"error,omitempty"`
}

// failure is why a request failed.
type failure struct {
	Code    string `json:"code"`
	Text    string `json:"text,omitempty"`
	RetryMS int64  `json:"retry_ms,omitempty"`
}

// errNoObject means that a line is not a JSON object.
var errNoObject = errors.New("a line is not a JSON object")

// decode reads a line of the program as a *ready, *failed, *message or *result; nil: it is of a type that is not known. The error is
// errNoObject, or says what is wrong with a line of a known type.
func decode(line []byte) (any, error) {
	line = bytes.TrimSpace(line)
	typ := typeOf(line)
	into := empty(typ)
	if into == nil {
		if !bytes.HasPrefix(line, []byte("{")) || !json.Valid(line) {
			return nil, errNoObject
		}
		return nil, nil
	}
	err := json.Unmarshal(line, into)
	if _, cut := errors.AsType[*json.SyntaxError](err); cut {
		return nil, errNoObject
	}
	if c, is := into.(interface{ check() error }); err == nil && is {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("a line of the type %s is not as the protocol says: %w", typ, err)
	}
	return into, nil
}

// Check says what is wrong with a line that a program wrote; nil: nothing is, or its type is not known.
func Check(line []byte) error {
	_, err := decode(line)
	return err
}

// typeOf is the type of a line; empty if it has none. A line that begins with it is not read further: it may be long.
func typeOf(line []byte) (typ string) {
	d := json.NewDecoder(bytes.NewReader(line))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		if name == "type" {
			_ = d.Decode(&typ) // a number, for instance, is not a type
			return typ
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return ""
		}
	}
	return ""
}

// empty is a line of a type that the program writes; nil: the type is not known.
func empty(typ string) any {
	switch typ {
	case typeReady:
		return &ready{}
	case typeFailed:
		return &failed{}
	case typeMessage:
		return &message{}
	case typeResult:
		return &result{}
	}
	return nil
}

// Bounds of a message.
const (
	maxText = 256 << 10
	maxID   = 500
)

func (m *message) check() error {
	switch {
	case m.Seq < 1:
		return errors.New("seq is not 1 or more")
	case m.ID == "" || m.Chat == "" || m.User.ID == "":
		return errors.New("id, chat or user.id is empty")
	case m.Kind != adapter.ChatDM && m.Kind != adapter.ChatGroup && m.Kind != adapter.ChatThread:
		return errors.New("kind is not dm, group or thread")
	case len(m.Text) > maxText || len(m.Quoted) > maxText:
		return fmt.Errorf("a text is longer than %d bytes", maxText)
	case m.Kind == adapter.ChatGroup && m.Group == "":
		return errors.New("its kind is group, and group is empty")
	}
	named := []string{m.ID, m.Chat, m.Group, m.User.ID, m.User.Name}
	for _, f := range m.Files {
		if f.Ref == "" || f.Size < 0 {
			return errors.New("a file has no ref, or a size below 0")
		}
		named = append(named, f.Ref, f.Name, f.MediaType)
	}
	for _, one := range named {
		if len(one) > maxID {
			return fmt.Errorf("an id or a name is longer than %d bytes", maxID)
		}
	}
	return nil
}

func (r *result) check() error {
	for _, id := range r.Messages {
		if len(id) > maxID {
			return fmt.Errorf("the id of a message is longer than %d bytes", maxID)
		}
	}
	return nil
}
