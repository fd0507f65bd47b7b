package memory

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
)

var _ tool.Notes = (*Memory)(nil)

// whoOf is whom a call of a tool works for.
func whoOf(c tool.Call) Who {
	return Who{Key: c.Session, User: c.Person, Role: c.Role, Unattended: c.Unattended}
}

// errNobody refuses what a turn without notes asks for.
var errNobody = errors.New("there are no notes in this conversation: it belongs to no person and to no chat")

// SaveNote implements tool.Notes.
func (m *Memory) SaveNote(ctx context.Context, c tool.Call, n tool.SavedNote) (id string, err error) {
	reach := ReachOf(whoOf(c))
	if reach.None() {
		return "", errNobody
	}
	text := tidy(n.Text)
	switch {
	case text == "":
		return "", errors.New("the note has no text")
	case utf8.RuneCountInString(n.Text) > MaxText:
		return "", fmt.Errorf("the note has more than %d characters: save what matters of it, or several notes", MaxText)
	}
	note := Note{ID: n.ID, Owner: reach.Own, Text: text, By: ByTool, People: reach.people(), Pinned: n.Pin}
	if n.Shared {
		if !reach.Shares {
			return "", errors.New("only an owner of this gateway can save a shared note, in a conversation with a person")
		}
		note.Owner = Shared
	}
	made, err := call(ctx, m, callBound, "save the note", func(ctx context.Context, p Provider) (Note, error) {
		if note.ID != "" {
			return p.Correct(ctx, reach.Writes(), note)
		}
		return p.Save(ctx, note)
	})
	return made.ID, plainly(err)
}

// SearchNotes implements tool.Notes.
func (m *Memory) SearchNotes(ctx context.Context, c tool.Call, text string) ([]tool.FoundNote, error) {
	notes, err := m.Find(ctx, whoOf(c), text)
	found := make([]tool.FoundNote, 0, len(notes))
	for _, n := range notes {
		found = append(found, tool.FoundNote{ID: n.ID, Scope: n.Owner.Scope(), Saved: n.At.UTC().Format(time.DateOnly), Text: n.Text})
	}
	return found, err
}

// ForgetNote implements tool.Notes.
func (m *Memory) ForgetNote(ctx context.Context, c tool.Call, id string) error {
	return m.Delete(ctx, whoOf(c), id)
}

// Find are the notes of a person or of a chat that have words of a text, the best first; the first ones without a text.
func (m *Memory) Find(ctx context.Context, w Who, text string) ([]Note, error) {
	owners := ReachOf(w).Reads()
	if len(owners) == 0 {
		return nil, errNobody
	}
	notes, err := call(ctx, m, callBound, "search the notes", func(ctx context.Context, p Provider) ([]Note, error) {
		if text == "" {
			return p.First(ctx, owners, maxFound)
		}
		return p.Search(ctx, owners, text, maxFound)
	})
	return notes, plainly(err)
}

// Delete deletes a note of a person or of a chat. The error is ErrNoNote if it belongs to someone else.
func (m *Memory) Delete(ctx context.Context, w Who, id string) error {
	owners := ReachOf(w).Writes()
	if len(owners) == 0 {
		return errNobody
	}
	_, err := call(ctx, m, callBound, "delete the note", func(ctx context.Context, p Provider) (struct{}, error) {
		return struct{}{}, p.Forget(ctx, owners, id)
	})
	return plainly(err)
}

// maxAll is the most notes that operators read.
const maxAll = 10_000

// All are the newest notes of all owners, newest first, for operators.
func (m *Memory) All(ctx context.Context) ([]Note, error) {
	if !m.On() {
		return nil, nil
	}
	return call(ctx, m, callBound, "read the notes", func(ctx context.Context, p Provider) ([]Note, error) { return p.All(ctx, maxAll) })
}

// DeleteAny deletes a note of any owner, for operators. The error is ErrNoNote if there is none.
func (m *Memory) DeleteAny(ctx context.Context, id string) error {
	_, err := call(ctx, m, callBound, "delete the note", func(ctx context.Context, p Provider) (struct{}, error) { return struct{}{}, p.Forget(ctx, nil, id) })
	return plainly(err)
}

// ForgetPerson deletes what a provider outside of the store keeps of a person, platform:id, and returns how many notes that were.
func (m *Memory) ForgetPerson(ctx context.Context, person string) (int, error) {
	if !m.On() {
		return 0, nil
	}
	return call(ctx, m, callBound, "delete the notes of a person", func(ctx context.Context, p Provider) (int, error) { return p.ForgetPerson(ctx, person) })
}

// plainly is an error as models and people read it: what was being done is left out where the cause says all.
func plainly(err error) error {
	if errors.Is(err, ErrNoNote) {
		return ErrNoNote
	}
	if e, is := errors.AsType[*ops.Error](err); is {
		return e
	}
	return err
}
