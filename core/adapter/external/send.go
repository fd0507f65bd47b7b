package external

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

var (
	_ adapter.Typer      = (*conn)(nil)
	_ adapter.Editor     = (*conn)(nil)
	_ adapter.Reactor    = (*conn)(nil)
	_ adapter.FileSender = (*conn)(nil)
	_ adapter.Fetcher    = (*conn)(nil)
	_ adapter.MenuSetter = (*conn)(nil)
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another text of the
// gateway for the same chat between them. If one of them fails, so does the Send; another try with the same text and Outgoing.Skip goes
// on with the one that failed.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, "")
}

// Edit implements adapter.Editor.
func (c *conn) Edit(ctx context.Context, message string, m adapter.Outgoing) (adapter.Sent, error) {
	if err := c.able(adapter.AbilityEdit, message); err != nil {
		return adapter.Sent{}, err
	}
	return c.deliver(ctx, m, message)
}

// able refuses a call that the program cannot carry out, or that names no message.
func (c *conn) able(a adapter.Ability, message string) error {
	switch {
	case !c.said.can(a):
		return adapter.ErrUnable
	case message == "" || len(message) > maxID:
		return &adapter.RefusedError{Why: fmt.Sprintf("%.80q is not a message", message)}
	}
	return nil
}

// deliver sends the parts of a text. The message first, if it is not empty, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	to, _, err := parseTarget(m.Target)
	if err != nil {
		return sent, err
	}
	err = c.While(ctx, func(ctx context.Context) error {
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) { return c.parts(ctx, m, first, nil) })
		return err
	})
	return sent, err
}

// say sends a notice. The message whose notice it is waits for it, so it waits neither for other messages of the chat nor for a result that
// is behind messages that are not read.
func (c *conn) say(ctx context.Context, m adapter.Outgoing) (sent adapter.Sent, err error) {
	err = c.While(ctx, func(ctx context.Context) error {
		sent, err = c.parts(ctx, m, "", c.window.hurry)
		return err
	})
	return sent, err
}

// parts sends the parts of a text. The message first, if it is not empty, becomes the first of them. hurry is as in ask.
func (c *conn) parts(ctx context.Context, m adapter.Outgoing, first string, hurry <-chan struct{}) (sent adapter.Sent, err error) {
	to, reply, err := parseTarget(m.Target)
	if err != nil {
		return sent, err
	}
	markdown := m.Markdown && c.said.can(adapter.AbilityFormat)
	texts := split(m.Text, c.said.bounds.Message, markdown)
	if len(texts) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	for i := m.Skip; i < len(texts); i++ {
		line := command{Type: typeSend, Chat: string(to), Text: texts[i], Markdown: markdown, Passing: m.Passing}
		if i == len(texts)-1 && c.said.can(adapter.AbilityButtons) {
			line.Buttons = buttonsOf(m.Buttons)
		}
		if i == 0 && first != "" {
			line.Type, line.Message, line.Passing = typeEdit, first, false
		} else {
			line.Key = keyOf(m.Key, i)
			if i == 0 {
				line.Reply = reply
			}
			if i == m.Skip && m.Repeated {
				line.Text = c.marked(line.Text)
			}
		}
		r, err := c.ask(ctx, line, hurry)
		if errors.Is(err, errSaid) {
			r, err = &result{}, nil
		}
		if err != nil && len(texts) > 1 {
			err = fmt.Errorf("part %d of %d: %w", i+1, len(texts), err)
		}
		if err != nil {
			return sent, err
		}
		sent.IDs = append(sent.IDs, arrived(r, line.Message))
	}
	return sent, nil
}

// arrived is the id of the message that a request has sent; empty: the platform has none. One that was edited keeps its id.
func arrived(r *result, edited string) string {
	if edited == "" && len(r.Messages) > 0 {
		return r.Messages[0]
	}
	return edited
}

// marked is a text that says that it may have arrived before, where there is room for that.
func (c *conn) marked(text string) string {
	marked := adapter.RepeatMark + "\n\n" + text
	if most := c.said.bounds.Message; most > 0 && len(adapter.Split(marked, most)) > 1 {
		return text
	}
	return marked
}

// keyOf is the name of a part of the message with this key.
func keyOf(key string, part int) string {
	if key == "" || part == 0 {
		return key
	}
	return fmt.Sprintf("%s/%d", key, part)
}

func buttonsOf(rows [][]adapter.Button) (all [][]button) {
	for _, row := range rows {
		var out []button
		for _, b := range row {
			out = append(out, button{b.Label, b.Text})
		}
		all = append(all, out)
	}
	return all
}

// act makes a request about a chat whose result is not of interest.
func (c *conn) act(ctx context.Context, target string, line command) error {
	to, _, err := parseTarget(target)
	if err != nil {
		return err
	}
	line.Chat = string(to)
	return c.While(ctx, func(ctx context.Context) error {
		_, err := c.ask(ctx, line, nil)
		return err
	})
}

// Remove implements adapter.Editor.
func (c *conn) Remove(ctx context.Context, target, message string) error {
	if err := c.able(adapter.AbilityEdit, message); err != nil {
		return err
	}
	return c.act(ctx, target, command{Type: typeDelete, Message: message})
}

// Typing implements adapter.Typer.
func (c *conn) Typing(ctx context.Context, target string) error {
	if !c.said.can(adapter.AbilityTyping) {
		return adapter.ErrUnable
	}
	return c.act(ctx, target, command{Type: typeTyping})
}

// React implements adapter.Reactor.
func (c *conn) React(ctx context.Context, target, message, emoji string) error {
	if err := c.able(adapter.AbilityReactions, message); err != nil {
		return err
	}
	return c.act(ctx, target, command{Type: typeReact, Message: message, Emoji: emoji})
}

// SendFile implements adapter.FileSender.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (sent adapter.Sent, err error) {
	if !c.said.can(adapter.AbilityFilesOut) {
		return sent, adapter.ErrUnable
	}
	if most := c.said.bounds.File; int64(len(f.Content)) > most {
		return sent, bot.TooLarge(most)
	}
	to, reply, err := parseTarget(target)
	if err != nil {
		return sent, err
	}
	line := command{
		Type: typeFile, Chat: string(to), Reply: reply, Name: bot.FileName(f.Name), MediaType: f.Type, Content: f.Content,
		Caption: strings.TrimSpace(f.Caption), Key: f.Key,
	}
	err = c.While(ctx, func(ctx context.Context) error {
		sent, err = c.chats.Send(ctx, to, adapter.Outgoing{}, func() (adapter.Sent, error) {
			r, err := c.ask(ctx, line, nil)
			if err != nil {
				return adapter.Sent{}, err
			}
			return adapter.Sent{IDs: []string{arrived(r, "")}}, nil
		})
		return err
	})
	return sent, err
}

// Fetch implements adapter.Fetcher.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (content []byte, err error) {
	if !c.said.can(adapter.AbilityFilesIn) {
		return nil, adapter.ErrUnable
	}
	most = min(most, maxFile)
	err = c.While(ctx, func(ctx context.Context) error {
		r, err := c.ask(ctx, command{Type: typeFetch, Ref: ref, Most: most}, nil)
		if err == nil && int64(len(r.Content)) > most {
			return bot.TooLarge(most)
		}
		if err == nil {
			content = r.Content
		}
		return err
	})
	return content, err
}

// SetMenu implements adapter.MenuSetter.
func (c *conn) SetMenu(ctx context.Context, commands []adapter.MenuCommand) error {
	if !c.said.can(adapter.AbilityMenu) {
		return adapter.ErrUnable
	}
	line := command{Type: typeMenu}
	for _, m := range commands {
		line.Commands = append(line.Commands, menuCommand{m.Name, m.About})
	}
	return c.While(ctx, func(ctx context.Context) error {
		_, err := c.ask(ctx, line, nil)
		return err
	})
}
