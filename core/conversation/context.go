package conversation

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/agent"
	"gatewaytui/core/delivery"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/core/window"
)

// The bounds of pins: every model call pays for them. maxPin is in characters, and together they have at most one part in
// pinsShare of the model's context.
const (
	maxPin    = 2000
	pinsShare = 8
)

// compact is /compact. It is a turn of the session, behind those that wait: the model summarises, and that takes a while.
func (c *Conversations) compact(ctx context.Context, u use) (string, error) {
	if _, known := c.o.Table.Get(u.key); !known {
		return "There is no conversation yet, so there is nothing to compact.", nil
	}
	m := u.msg
	m.Compact = true
	if err := c.intake.Submit(ctx, u.key, m); err != nil {
		return "", err
	}
	return "", errAnsweredElsewhere
}

// keptAbove is what the text of a /compact wants kept.
func keptAbove(command string) string {
	_, keep, _ := delivery.ParseCommand(command)
	return keep
}

// compacted tells of a compaction of the turn's conversation.
func (r *turnRunner) compacted(done agent.Compacted) {
	key, turn := r.turn.Session.Key, r.turn.ID
	said := fmt.Sprintf("conversation compacted from about %d to %d tokens", done.Before, done.After)
	r.c.o.Log.Info(said, "event", string(ops.EventSessionCompacted), "session", key, "turn", turn, "messages", done.Messages, "summary", done.Summary)
	r.c.o.Events.Emit(ops.EventSessionCompacted, key, said, ops.Compacted{
		Turn: turn, Before: done.Before, After: done.After, Messages: done.Messages, Summary: done.Summary,
	})
}

// measured records how much of the model's context the conversation uses.
func (r *turnRunner) measured(used, whole int) {
	if whole >= model.Unbounded { // a script
		return
	}
	r.end.ContextUsed, r.end.ContextWindow = used, whole
	r.c.o.Table.Measured(r.turn, used, whole)
}

// pin is /pin. Without a text it lists the pins.
func (c *Conversations) pin(ctx context.Context, u use) (string, error) {
	s, known := c.o.Table.Get(u.key)
	if !known || session.IsRequest(u.key) {
		return "There is no conversation yet. Say something first.", nil
	}
	pins, err := c.store.Pins(ctx, s.ID)
	if err != nil {
		return "", fmt.Errorf("read the pins of %s: %w", u.key, err)
	}
	what := strings.TrimSpace(u.arg)
	if what == "" {
		return listPins(pins), nil
	}
	if n := utf8.RuneCountInString(what); n > maxPin {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the text has %d characters; at most %d can be pinned", n, maxPin), Hint: "make it shorter"}
	}
	whole := s.ContextWindow
	if whole == 0 {
		whole = window.Fallback
	}
	if window.Text(strings.Join(append(pinTexts(pins), what), "\n")) > whole/pinsShare {
		return "", &ops.Error{Code: ops.CodeLimit, Message: "the pins would take more than an eighth of what the model can read at once", Hint: "/unpin NUMBER drops one; /pin lists them"}
	}
	wctx, cancel := c.store.Patience(ctx, store.Stall)
	defer cancel()
	found, err := c.store.PutPin(wctx, s.ID, what, time.Now())
	if err != nil {
		return "", fmt.Errorf("pin in %s: %w", u.key, err)
	}
	if !found { // its first message is not saved yet
		return "There is no conversation yet. Say something first.", nil
	}
	pins = append(pins, store.Pin{Text: what})
	c.repin(u.key, s.ID, pins)
	return fmt.Sprintf("Pinned as number %d. The model gets it with every call until this conversation ends; /unpin %d drops it.", len(pins), len(pins)), nil
}

// unpin is /unpin NUMBER.
func (c *Conversations) unpin(ctx context.Context, u use) (string, error) {
	s, _ := c.o.Table.Get(u.key)
	pins, err := c.store.Pins(ctx, s.ID)
	if err != nil {
		return "", fmt.Errorf("read the pins of %s: %w", u.key, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(u.arg))
	if err != nil || n < 1 || n > len(pins) {
		return listPins(pins), nil
	}
	wctx, cancel := c.store.Patience(ctx, store.Stall)
	defer cancel()
	if err := c.store.DropPin(wctx, s.ID, pins[n-1].Seq); err != nil {
		return "", fmt.Errorf("drop a pin of %s: %w", u.key, err)
	}
	dropped := pins[n-1]
	c.repin(u.key, s.ID, append(pins[:n-1:n-1], pins[n:]...))
	return "No longer pinned: " + term.Clean(dropped.Text, 200), nil
}

// repin gives the pins of a conversation to its agent, if one is cached.
func (c *Conversations) repin(key, id string, pins []store.Pin) {
	if a, ok := c.o.Cache.Peek(key); ok && a.Conversation() == id {
		a.SetPins(pinTexts(pins))
	}
}

func pinTexts(pins []store.Pin) []string {
	out := make([]string, 0, len(pins))
	for _, p := range pins {
		out = append(out, p.Text)
	}
	return out
}

func listPins(pins []store.Pin) string {
	if len(pins) == 0 {
		return "Nothing is pinned. /pin TEXT keeps TEXT in every model call of this conversation."
	}
	var b strings.Builder
	for i, p := range pins {
		fmt.Fprintf(&b, "%d. %s\n", i+1, term.Clean(strings.Join(strings.Fields(p.Text), " "), 300))
	}
	b.WriteString("/unpin NUMBER drops one.")
	return b.String()
}

// contextStatus is what /status says of the model's context; empty for nothing.
func (c *Conversations) contextStatus(ctx context.Context, s session.Session) string {
	said := ""
	if s.ContextWindow > 0 {
		said = fmt.Sprintf("Context: %s of %s tokens.", humanize.Comma(int64(s.ContextUsed)), humanize.Comma(int64(s.ContextWindow)))
	}
	if pins, err := c.store.Pins(ctx, s.ID); err == nil && len(pins) > 0 {
		said = strings.TrimSpace(said + fmt.Sprintf(" %d %s (/pin lists them).", len(pins), text.Plural(len(pins), "text is pinned", "texts are pinned")))
	}
	if said != "" {
		said += "\n"
	}
	return said
}
