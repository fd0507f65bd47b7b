package matrix

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// Matrix has no buttons. The bot puts a reaction with each label below its message; who clicks on one sends the same reaction. The
// message has what each label sends, so that a press counts in a later life too.

const (
	// maxButtons is the most buttons of a message: each is a call. maxLabel is the most runes of a label, and maxPress the most
	// bytes of what it sends.
	maxButtons = 8
	maxLabel   = 40
	maxPress   = 500
)

// button is one button of a message.
type button struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// buttonsOf are the buttons that can be shown. Others are left out: the text says it in words.
func buttonsOf(rows [][]adapter.Button) (all []button) {
	for _, b := range slices.Concat(rows...) {
		label := term.Clean(b.Label, maxLabel)
		known := slices.ContainsFunc(all, func(o button) bool { return o.Label == label })
		if label == "" || b.Text == "" || known || len(b.Text) > maxPress || !utf8.ValidString(b.Text) || len(all) == maxButtons {
			continue
		}
		all = append(all, button{Label: label, Text: b.Text})
	}
	return all
}

// show puts the buttons below a message that has arrived. The text says in words what they do, so that a failure is not one of the
// message.
func (c *conn) show(ctx context.Context, room, message string, buttons []button) {
	for _, b := range buttons {
		ctx, cancel := context.WithTimeout(ctx, c.p.notice)
		err := c.react(ctx, room, message, b.Label)
		cancel()
		if err != nil {
			c.polite(err)
			return
		}
	}
}

// change makes these the buttons of a message that was edited.
func (c *conn) change(ctx context.Context, room, message string, buttons []button) {
	ctx, cancel := context.WithTimeout(ctx, c.p.notice)
	defer cancel()
	mine, err := c.reactions(ctx, room, message)
	if err != nil {
		c.polite(err)
		return
	}
	for _, m := range mine {
		same := func(b button) bool { return b.Label == m.key }
		if slices.ContainsFunc(buttons, same) {
			buttons = slices.DeleteFunc(slices.Clone(buttons), same)
			continue
		}
		c.polite(c.api.redact(ctx, room, m.event))
	}
	c.show(ctx, room, message, buttons)
}

// pressed is what a reaction to a message of the bot sends: the text of the button of that label in the message as it stands now;
// empty: it is not a button.
func (a *api) pressed(ctx context.Context, e *event, was content) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	buttons := was.Buttons
	err = a.related(ctx, e.at.room, e.about, relReplace, typeMessage, func(edit rawEvent, now content) bool {
		if edit.Sender != e.mine || edit.redacted() || now.New == nil {
			return true
		}
		buttons = now.New.Buttons
		return false
	})
	for _, b := range buttons {
		if b.Label == e.key {
			return b.Text, err
		}
	}
	return "", err
}

// jsonEvent is an event of a list of others'. One that cannot be read is skipped.
type jsonEvent struct {
	event   rawEvent
	content content
	is      bool
}

// UnmarshalJSON implements json.Unmarshaler. It has no error.
func (j *jsonEvent) UnmarshalJSON(text []byte) error {
	var err error
	if j.event, err = decode(text); err == nil {
		j.is = json.Unmarshal(j.event.Content, &j.content) == nil
	}
	return nil
}
