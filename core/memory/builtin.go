package memory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// Notes keeps rows of notes. *store.Store is one.
type Notes interface {
	PutNote(ctx context.Context, n store.Note, words []string, most int) (store.Note, error)
	ChangeNote(ctx context.Context, owners []string, n store.Note, words []string) (store.Note, bool, error)
	DropNote(ctx context.Context, owners []string, seq int64) (found bool, err error)
	NotesFor(ctx context.Context, owners []string, limit int) ([]store.Note, error)
	FindNotes(ctx context.Context, owners []string, words []store.Wanted, limit int) ([]store.Note, error)
	Notes(ctx context.Context, limit int) ([]store.Note, error)
}

// builtin is the provider in the gateway's own database.
type builtin struct {
	keep Notes
	find Extractor
}

var _ Provider = builtin{}

// mark begins the id of a note, which its number follows.
const mark = "n"

func idOf(seq int64) string { return mark + strconv.FormatInt(seq, 10) }

// seqOf is the number in an id; false: it is not an id.
func seqOf(id string) (int64, bool) {
	seq, err := strconv.ParseInt(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(id)), mark), 10, 64)
	return seq, err == nil && seq > 0
}

func noteOf(n store.Note) Note {
	return Note{ID: idOf(n.Seq), Owner: Owner(n.Owner), Text: n.Text, By: n.By, People: n.People, At: n.At, Pinned: n.Pinned}
}

func notesOf(rows []store.Note, err error) ([]Note, error) {
	var notes []Note
	for _, n := range rows {
		notes = append(notes, noteOf(n))
	}
	return notes, err
}

func names(owners []Owner) []string {
	out := make([]string, len(owners))
	for i, o := range owners {
		out[i] = string(o)
	}
	return out
}

// Row is a note of the built-in provider as the store takes it, with the words by which it is found.
func Row(o Owner, text, by string) (store.Note, []string) {
	text = tidy(text)
	return store.Note{Owner: string(o), Text: text, By: by}, wordsOf(text)
}

// full is the answer to a note beyond the limit.
func full(o Owner) error {
	whose := map[string]string{"person": "this person", "chat": "this chat", "shared": "all together"}[o.Scope()]
	return &ops.Error{Code: ops.CodeLimit, Message: fmt.Sprintf("the note was not saved: there are %d notes of %s, and no more fit", MaxNotes, whose), Hint: "forget a note that is not needed, or correct one"}
}

func (b builtin) Save(ctx context.Context, n Note) (Note, error) {
	row, err := b.keep.PutNote(ctx, store.Note{Owner: string(n.Owner), Text: n.Text, By: n.By, People: n.People, At: time.Now(), Pinned: n.Pinned}, wordsOf(n.Text), MaxNotes)
	if errors.Is(err, store.ErrNotesFull) {
		return Note{}, full(n.Owner)
	}
	return noteOf(row), err
}

func (b builtin) Correct(ctx context.Context, owners []Owner, n Note) (Note, error) {
	seq, is := seqOf(n.ID)
	if !is || len(owners) == 0 {
		return Note{}, ErrNoNote
	}
	row, found, err := b.keep.ChangeNote(ctx, names(owners), store.Note{Seq: seq, Text: n.Text, People: n.People, At: time.Now(), Pinned: n.Pinned}, wordsOf(n.Text))
	if err == nil && !found {
		err = ErrNoNote
	}
	return noteOf(row), err
}

func (b builtin) Forget(ctx context.Context, owners []Owner, id string) error {
	seq, is := seqOf(id)
	if !is {
		return ErrNoNote
	}
	found, err := b.keep.DropNote(ctx, names(owners), seq)
	if err == nil && !found {
		err = ErrNoNote
	}
	return err
}

func (b builtin) Search(ctx context.Context, owners []Owner, text string, limit int) ([]Note, error) {
	wanted := wantedOf(text)
	if len(wanted) == 0 || len(owners) == 0 {
		return nil, nil
	}
	return notesOf(b.keep.FindNotes(ctx, names(owners), wanted, limit))
}

func (b builtin) First(ctx context.Context, owners []Owner, limit int) ([]Note, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	return notesOf(b.keep.NotesFor(ctx, names(owners), limit))
}

func (b builtin) All(ctx context.Context, limit int) ([]Note, error) {
	return notesOf(b.keep.Notes(ctx, limit))
}

// Flush keeps what the extractor finds.
func (b builtin) Flush(ctx context.Context, m Material) error { return glean(ctx, b, b.find, m) }

// Shutdown has nothing to end: the store outlives every conversation.
func (builtin) Shutdown(context.Context, string) error { return nil }

// ForgetPerson has nothing to delete: the rows go with those of the store.
func (builtin) ForgetPerson(context.Context, string) (int, error) { return 0, nil }
