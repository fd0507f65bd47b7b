package store

import (
	"context"
	"time"
)

// InboxState is how far a message from a chat has come.
type InboxState string

// The states of an inbox row. A running one has a turn that began; the turn's row shows how that turn ended.
const (
	InboxWaiting  InboxState = "waiting"
	InboxRunning  InboxState = "running"
	InboxAnswered InboxState = "answered"
)

// Inbox is a message from a chat (E12, E15).
type Inbox struct {
	ID string
	// Dedupe names the message for ever on its platform; empty where the platform has no such name.
	Dedupe                               string
	Session, Adapter, Target, User, Text string
	// Files are the files of the message as JSON; empty: none.
	Files string
	At    time.Time
	State InboxState
}

// Outbox is a message to a chat. ID is that of the message that it answers: one message has one answer.
type Outbox struct {
	ID                             string
	Session, Adapter, Target, Text string
	At                             time.Time
	// Placeholder is the platform's name of the message in the chat that becomes the first part of this one; empty: none.
	Placeholder string
	// Parts is how many messages of its text have arrived. Tried means that the next one may have: an attempt begins,
	// or began, and its outcome is not known.
	Parts int
	Tried bool
	// File is the file that the message is, as JSON, with Text as its caption; empty: none.
	File string
	// Buttons are the buttons below it, as JSON; empty: none.
	Buttons string
}

const (
	inboxColumns  = `id, dedupe, session, adapter, target, user, text, at, state, files`
	outboxColumns = `id, session, adapter, target, text, at, placeholder, parts, tried, file, buttons`
)

func (v *Inbox) fields() []any {
	return []any{&v.ID, (*optional)(&v.Dedupe), &v.Session, &v.Adapter, &v.Target, &v.User, &v.Text, (*stamp)(&v.At), &v.State, &v.Files}
}

func (v *Outbox) fields() []any {
	return []any{&v.ID, &v.Session, &v.Adapter, &v.Target, &v.Text, (*stamp)(&v.At), &v.Placeholder, &v.Parts, &v.Tried, &v.File, &v.Buttons}
}

var (
	putInbox  = insertion("INSERT INTO inbox", inboxColumns, "")
	putOutbox = insertion("INSERT INTO outbox", outboxColumns+", state, reason", "ON CONFLICT (id) DO NOTHING")
)

// PutInbox writes a message before its platform gets the acknowledgement. If its Dedupe was seen before, nothing is
// written: fresh is false and id names the earlier message. Otherwise id is v's.
func (s *Store) PutInbox(ctx context.Context, v Inbox) (id string, fresh bool, err error) {
	id, err = result(ctx, s, "write inbox "+v.ID, func(t *tx) (string, error) {
		if v.Dedupe != "" {
			var before string
			again, err := t.found(`SELECT id FROM inbox WHERE dedupe = ?`, []any{v.Dedupe}, &before)
			if err != nil || again {
				return before, err
			}
		}
		return v.ID, t.do(putInbox, v.fields()...)
	})
	return id, id == v.ID, err
}

// DropInbox deletes a message that was refused after all: it may come again.
func (s *Store) DropInbox(ctx context.Context, id string) error {
	return s.change(ctx, "drop inbox "+id, `DELETE FROM inbox WHERE id = ?`, id)
}

// Answer records that a message of the inbox has its answer, and writes the answer into the outbox, with the place of its
// draft if that becomes the answer; nil is an answer without text. A message that has an answer keeps it.
func (s *Store) Answer(ctx context.Context, id string, reply *Outbox) error {
	return s.write(ctx, "answer "+id, func(t *tx) error { return t.answer(id, reply) })
}

// PutOutbox writes a message to a chat that answers no message.
func (s *Store) PutOutbox(ctx context.Context, v Outbox) error {
	return s.write(ctx, "write outbox "+v.ID, func(t *tx) error { return t.putOutbox(v) })
}

// SetOutbox records how far a message to a chat has come: its Placeholder, Parts and Tried.
func (s *Store) SetOutbox(ctx context.Context, v Outbox) error {
	return s.change(ctx, "set outbox "+v.ID, `UPDATE outbox SET placeholder = ?, parts = ?, tried = ? WHERE id = ? AND state = 'waiting'`, v.Placeholder, v.Parts, v.Tried, v.ID)
}

// EndOutbox records that the platform accepted a message or, with a reason, that it never will.
func (s *Store) EndOutbox(ctx context.Context, id, refused string, at time.Time) error {
	state := "sent"
	if refused != "" {
		state = "refused"
	}
	return s.change(ctx, "end outbox "+id, `UPDATE outbox SET state = ?, reason = ?, ended_at = ? WHERE id = ? AND state = 'waiting'`, state, refused, stamp(at), id)
}

// OpenInbox are the messages without an answer, in the order in which they came.
func (s *Store) OpenInbox(ctx context.Context) ([]Inbox, error) {
	return list[Inbox](ctx, s, "read the inbox", `SELECT `+inboxColumns+` FROM inbox WHERE state <> 'answered' ORDER BY seq`)
}

// OpenOutbox are the messages that still have to be sent, in the order in which they were written.
func (s *Store) OpenOutbox(ctx context.Context) ([]Outbox, error) {
	return list[Outbox](ctx, s, "read the outbox", `SELECT `+outboxColumns+` FROM outbox WHERE state = 'waiting' ORDER BY seq`)
}

// LastOutbox is the message to a chat whose id is the last of those that begin with prefix, without refused ones; false: there
// is none.
func (s *Store) LastOutbox(ctx context.Context, prefix string) (Outbox, bool, error) {
	return first[Outbox](ctx, s, "read the last message of "+prefix, `SELECT `+outboxColumns+` FROM outbox
		WHERE id >= ? AND id < ? AND state <> 'refused' ORDER BY id DESC LIMIT 1`, prefix, prefix+"\U0010FFFF")
}

func (t *tx) answer(id string, reply *Outbox) error {
	if _, err := t.exec(`UPDATE inbox SET state = 'answered' WHERE id = ?`, id); err != nil || reply == nil {
		return err
	}
	return t.putOutbox(*reply)
}

func (t *tx) putOutbox(v Outbox) error {
	if err := t.complete(&v); err != nil {
		return err
	}
	return t.do(putOutbox, append(v.fields(), "waiting", "")...)
}
