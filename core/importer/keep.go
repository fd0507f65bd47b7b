package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// life stands for the life that a turn belongs to.
const life = "import"

// Compare finds out which conversations and notes are in the store already, and which chats have another one. It changes the items of the plan.
func (p *Plan) Compare(ctx context.Context, s *store.Store) error {
	kept := p.talks[:0]
	for _, t := range p.talks {
		item := &p.Items[t.item]
		_, there, err := s.SessionByID(ctx, t.sessionID())
		if err != nil {
			return err
		}
		_, current, err := s.CurrentSession(ctx, t.key)
		switch {
		case err != nil:
			return err
		case there:
			item.State, item.Why = There, ""
		case current:
			item.State, item.Why = Conflict, "the chat has a conversation here already"
		default:
			kept = append(kept, t)
		}
	}
	p.talks = kept
	return p.compareNotes(ctx, s)
}

// Keep writes the conversations and the notes of the plan into the store, each as the current session of its chat. Compare comes first. now is the
// wall clock. next is called before each conversation.
func (p *Plan) Keep(ctx context.Context, s *store.Store, now time.Time, next func()) error {
	for _, t := range p.talks {
		next()
		if err := t.keep(ctx, s, now); err != nil {
			return fmt.Errorf("write the conversation of %s: %w", t.key, err)
		}
	}
	return p.keepNotes(ctx, s, now)
}

// sessionID is the id of the session that a conversation becomes, the same in every run.
func (t talk) sessionID() string { return newID(t.id) }

// newID is the id for a name.
func newID(name string) string {
	sum := sha256.Sum256([]byte(name))
	id, err := ulid.New(0, bytes.NewReader(sum[:]))
	if err != nil {
		panic("a sum is too short for an id")
	}
	return id.String()
}

func (t talk) keep(ctx context.Context, s *store.Store, now time.Time) error {
	id := t.sessionID()
	times(t.messages, now)
	first, last := t.messages[0].at, t.messages[len(t.messages)-1].at
	platform, _, _ := strings.Cut(t.key, ":")
	_, who, _ := strings.Cut(t.key, ":dm:") // in a direct message the chat's id is the person's, and the address of both
	session := store.Session{
		Key: t.key, ID: id, Platform: platform, User: who, Target: who, State: ops.SessionIdle, CreatedAt: first, LastActivityAt: last,
	}
	turn := store.Turn{ID: newID(t.id + ":turn"), SessionID: id, Life: life, StartedAt: first, EndedAt: last, State: store.TurnDone, Who: who}
	rows := make([]store.Message, len(t.messages))
	for i, m := range t.messages {
		rows[i] = store.Message{Role: m.role, Content: m.text, At: m.at}
		if m.role == "user" {
			rows[i].Who = who
		}
	}
	return s.Import(ctx, session, turn, rows)
}
