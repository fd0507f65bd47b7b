package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Note is a text that outlives the conversation that it came from (HR4).
type Note struct {
	// Seq names it, and is never used again.
	Seq int64
	// Owner says whose it is: "person telegram:4711", "chat telegram:group:-42" or "shared".
	Owner string
	Text  string
	// By is how it came: tool, flush, review or import.
	By string
	// People wrote the words that it may have, as platform:id. Forgetting one of them deletes the note.
	People []string
	// At is when it was made or last changed.
	At     time.Time
	Pinned bool
}

// ErrNotesFull refuses a note whose owner has the most notes that one may have.
var ErrNotesFull = errors.New("the owner has as many notes as one may have")

const noteColumns = `n.seq, n.owner, n.text, n.by, n.people, n.at, n.pinned`

func (n *Note) fields() []any {
	return []any{&n.Seq, &n.Owner, &n.Text, &n.By, (*spaced)(&n.People), (*stamp)(&n.At), &n.Pinned}
}

// spaced is a list of words in a column, with a space before and after each.
type spaced []string

// Scan is for database/sql.
func (s *spaced) Scan(v any) error {
	text, is := v.(string)
	if !is {
		return fmt.Errorf("a column of words holds %T", v)
	}
	*s = strings.Fields(text)
	return nil
}

func (s spaced) text() string {
	if len(s) == 0 {
		return ""
	}
	return " " + strings.Join(s, " ") + " "
}

// PutNote writes a note, which is found by these words, and returns it with its number. If its owner has a note with the same text, that one stays and is returned.
// The error is ErrNotesFull if the owner has most notes already, and then nothing was written.
func (s *Store) PutNote(ctx context.Context, n Note, words []string, most int) (Note, error) {
	return result(ctx, s, "write a note", func(t *tx) (Note, error) {
		made := n
		if same, err := t.found(`SELECT seq FROM notes WHERE owner = ? AND text = ?`, []any{n.Owner, n.Text}, &made.Seq); err != nil || same {
			return made, err
		}
		var has int
		if _, err := t.found(`SELECT count(*) FROM notes WHERE owner = ?`, []any{n.Owner}, &has); err != nil {
			return made, err
		}
		if has >= most {
			return made, ErrNotesFull
		}
		if _, err := t.found(`INSERT INTO notes (owner, text, words, by, people, at, pinned) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
			[]any{n.Owner, n.Text, asJSON(words), n.By, spaced(n.People).text(), stamp(n.At), n.Pinned}, &made.Seq); err != nil {
			return made, err
		}
		return made, t.do(putNoteWords, made.Seq)
	})
}

// HasNote reports whether an owner has a note with this text.
func (s *Store) HasNote(ctx context.Context, owner, text string) (bool, error) {
	_, has, err := first[Note](ctx, s, "look for a note", `SELECT `+noteColumns+` FROM notes n WHERE n.owner = ? AND n.text = ? LIMIT 1`, owner, text)
	return has, err
}

// ChangeNote gives a note of one of these owners another text, and reports whether there is such a note.
func (s *Store) ChangeNote(ctx context.Context, owners []string, n Note, words []string) (Note, bool, error) {
	type changed struct {
		Note
		found bool
	}
	c, err := result(ctx, s, fmt.Sprintf("change note %d", n.Seq), func(t *tx) (c changed, err error) {
		var one int
		if c.found, err = t.found(`SELECT 1 FROM notes WHERE seq = ? AND owner`+inList, []any{n.Seq, asJSON(owners)}, &one); err != nil || !c.found {
			return c, err
		}
		if err := t.do(dropNoteWords, n.Seq); err != nil {
			return c, err
		}
		if err := t.do(`UPDATE notes SET text = ?, words = ?, at = ?, pinned = max(pinned, ?), people = ? WHERE seq = ?`,
			n.Text, asJSON(words), stamp(n.At), n.Pinned, spaced(n.People).text(), n.Seq); err != nil {
			return c, err
		}
		if err := t.do(putNoteWords, n.Seq); err != nil {
			return c, err
		}
		_, err = t.found(`SELECT `+noteColumns+` FROM notes n WHERE n.seq = ?`, []any{n.Seq}, c.fields()...)
		return c, err
	})
	return c.Note, c.found, err
}

// DropNote deletes a note of one of these owners, and reports whether there was one. Without owners it deletes the note of any.
func (s *Store) DropNote(ctx context.Context, owners []string, seq int64) (found bool, err error) {
	return result(ctx, s, fmt.Sprintf("delete note %d", seq), func(t *tx) (bool, error) {
		var one int
		found, err := t.found(`SELECT 1 FROM notes WHERE seq = ? AND (? OR owner`+inList+`)`, []any{seq, len(owners) == 0, asJSON(owners)}, &one)
		for _, text := range dropNote {
			if err == nil && found {
				err = t.do(text, seq)
			}
		}
		return found, err
	})
}

// The words of a note are found by its own list of them, because the key of their table begins with the owner.
const (
	putNoteWords  = `INSERT OR IGNORE INTO note_words SELECT n.owner, j.value, n.seq FROM notes n, json_each(n.words) j WHERE n.seq = ?1`
	dropNoteWords = `DELETE FROM note_words WHERE (owner, word, seq) IN (SELECT n.owner, j.value, n.seq FROM notes n, json_each(n.words) j WHERE n.seq = ?1)`
)

// dropNote deletes the note with a number.
var dropNote = []string{dropNoteWords, `DELETE FROM notes WHERE seq = ?1`}

// Notes are the newest notes of all owners, newest first, at most limit.
func (s *Store) Notes(ctx context.Context, limit int) ([]Note, error) {
	return list[Note](ctx, s, "read the notes", `SELECT `+noteColumns+` FROM notes n ORDER BY n.seq DESC LIMIT ?`, limit)
}

// NotesFor are the notes of these owners that come first: those that are pinned, then the newest.
func (s *Store) NotesFor(ctx context.Context, owners []string, limit int) ([]Note, error) {
	return list[Note](ctx, s, "read the notes", `SELECT `+noteColumns+` FROM notes n WHERE n.owner`+inList+` ORDER BY n.pinned DESC, n.seq DESC LIMIT ?`, asJSON(owners), limit)
}

// Wanted is a word to look for: all words from From to below To.
type Wanted [2]string

// FindNotes are the notes of these owners that have one of the words, at most limit. Those with more of the words, and with rarer ones,
// come first, then the newest.
func (s *Store) FindNotes(ctx context.Context, owners []string, words []Wanted, limit int) ([]Note, error) {
	wanted, _ := json.Marshal(words) // strings: it always marshals
	return list[Note](ctx, s, "search the notes", findNotes, asJSON(owners), string(wanted), limit)
}

const findNotes = `WITH
	wanted (i, least, below) AS MATERIALIZED (SELECT key, value ->> 0, value ->> 1 FROM json_each(?2)),
	hits (i, seq) AS MATERIALIZED (SELECT DISTINCT q.i, w.seq FROM wanted q CROSS JOIN json_each(?1) o CROSS JOIN note_words w
		WHERE w.owner = o.value AND w.word >= q.least AND w.word < q.below),
	rare (i, weight) AS MATERIALIZED (SELECT i, 1.0 / (4 + count(*)) FROM hits GROUP BY i),
	best (seq, score) AS (SELECT h.seq, sum(r.weight) FROM hits h JOIN rare r ON r.i = h.i GROUP BY h.seq ORDER BY 2 DESC, 1 DESC LIMIT ?3)
	SELECT ` + noteColumns + ` FROM best b CROSS JOIN notes n ON n.seq = b.seq ORDER BY b.score DESC, b.seq DESC`
