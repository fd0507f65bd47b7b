package search

import (
	"context"
	"database/sql"
	"time"

	"gatewaytui/core/search/words"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// How many numbers of messages one step covers. A step that fills is one transaction, because many small ones cost twice as much. It works in
// pieces with rests between them: a piece ends within some 3 ms, so that a turn seldom waits for the processor.
const (
	fillStep  = 512
	piece     = 32
	sweepStep = 256
)

// filler brings the index up to the store, one step after the other. It belongs to the index's goroutine.
type filler struct {
	store Store
	file  *file
	reach reach
	// newest is the number of the store's newest message.
	newest int64
	// swept is the number down to which deleted messages have been taken out of the index; 0: all have.
	swept int64
	// gathers says that new messages are left for a later step.
	gathers bool
	// rest is called between two pieces of a step, with what the step does and how long the piece took; nil: there is no rest.
	rest func(ctx context.Context, did work, took time.Duration) error
}

// step does the next piece of work: new messages first, then older ones, newest first, then deleted ones. It reports what it did.
func (f *filler) step(ctx context.Context) (did work, err error) {
	newest, err := f.store.Newest(ctx)
	if err != nil {
		return nothing, err
	}
	f.newest = newest
	if f.reach == (reach{}) { // the index is new
		return f.begin(ctx, newest)
	}
	marks, err := f.store.MarksAt(ctx, f.reach.high)
	if err != nil {
		return nothing, err
	}
	// The newest messages of the store may be deleted, and their numbers used again.
	if mark, there := marks[f.reach.high]; f.reach.high > 0 && (!there || mark != f.reach.mark) {
		return newer, f.rewind(ctx, newest)
	}
	switch {
	case newest > f.reach.high && !f.gathers:
		return newer, f.add(ctx, newer, f.reach.high+1, min(f.reach.high+fillStep, newest))
	case f.reach.low > 1:
		return older, f.add(ctx, older, max(f.reach.low-fillStep, 1), f.reach.low-1)
	case f.swept > 0:
		return deleted, f.sweep(ctx)
	}
	return nothing, nil
}

// work is what a step did.
type work int

const (
	nothing work = iota
	newer
	older
	deleted
)

// begin puts the reach of an index without messages above the store's newest one.
func (f *filler) begin(ctx context.Context, newest int64) (work, error) {
	if newest == 0 {
		return nothing, nil
	}
	marks, err := f.store.MarksAt(ctx, newest)
	if err != nil {
		return nothing, err
	}
	r := reach{low: newest + 1, high: newest, mark: marks[newest]}
	err = f.file.change(ctx, func(tx *sql.Tx) error { return setReach(ctx, tx, r) })
	if err == nil {
		f.reach = r
	}
	return older, err
}

// add takes the messages with numbers from least to most into the index, and extends its reach by them.
func (f *filler) add(ctx context.Context, did work, least, most int64) error {
	r := f.reach
	r.low, r.high = min(r.low, least), max(r.high, most)
	if r.high != f.reach.high { // before the messages: a number that is used again meanwhile does not have this mark
		marks, err := f.store.MarksAt(ctx, r.high)
		if err != nil {
			return err
		}
		r.mark = marks[r.high]
	}
	err := f.file.change(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, "INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)")
		if err != nil {
			return err
		}
		defer insert.Close()
		note, err := tx.PrepareContext(ctx, "INSERT INTO messages (seq, mark) VALUES (?, ?)")
		if err != nil {
			return err
		}
		defer note.Close()
		for ; least <= most; least += piece {
			began := time.Now()
			if err := f.put(ctx, insert, note, least, min(least+piece-1, most)); err != nil {
				return err
			}
			if f.rest != nil && least+piece <= most {
				if err := f.rest(ctx, did, time.Since(began)); err != nil {
					return err
				}
			}
		}
		return setReach(ctx, tx, r)
	})
	if err == nil {
		f.reach = r
	}
	return err
}

// put puts the messages with numbers from least to most into the tables of the index.
func (f *filler) put(ctx context.Context, insert, note *sql.Stmt, least, most int64) error {
	spoken, err := f.store.SpokenIn(ctx, least, most)
	if err != nil {
		return err
	}
	for _, m := range spoken {
		if session.IsRequest(m.Key) {
			continue // nothing of it stays
		}
		if _, err := insert.ExecContext(ctx, m.Seq, scopesOf(m), words.Indexed(m.Text)); err != nil {
			return err
		}
		if _, err := note.ExecContext(ctx, m.Seq, store.MarkOf(m.Turn)); err != nil {
			return err
		}
	}
	return nil
}

// scopesOf are the words by which a search is bound to a session or to a person.
func scopesOf(m store.Spoken) string {
	scopes := sessionScope(session.Owner(m.Key))
	if m.User != "" {
		scopes += " " + ownerScope(m.Platform, m.User)
	}
	return scopes
}

// noted are the messages of the index up to most, highest first, at most limit.
func (f *filler) noted(ctx context.Context, most int64, limit int) (seqs, marks []int64, err error) {
	rows, err := f.file.write.QueryContext(ctx, "SELECT seq, mark FROM messages WHERE seq <= ? ORDER BY seq DESC LIMIT ?", most, limit)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, mark int64
		if err := rows.Scan(&seq, &mark); err != nil {
			return nil, nil, err
		}
		seqs, marks = append(seqs, seq), append(marks, mark)
	}
	return seqs, marks, rows.Err()
}

// drop takes messages out of the index, and sets its reach.
func (f *filler) drop(ctx context.Context, seqs []int64, r reach) error {
	err := f.file.change(ctx, func(tx *sql.Tx) error {
		for _, seq := range seqs {
			for _, text := range []string{"DELETE FROM words WHERE rowid = ?", "DELETE FROM messages WHERE seq = ?"} {
				if _, err := tx.ExecContext(ctx, text, seq); err != nil {
					return err
				}
			}
		}
		return setReach(ctx, tx, r)
	})
	if err == nil {
		f.reach = r
	}
	return err
}

// rewind takes newest messages out of the index that the store has no more, at most piece of them. The reach then ends at the newest
// message that is the same in both.
func (f *filler) rewind(ctx context.Context, newest int64) error {
	seqs, marks, err := f.noted(ctx, f.reach.high, piece)
	if err != nil {
		return err
	}
	if len(seqs) == 0 { // the index has no message of this store: it begins again
		return f.drop(ctx, nil, reach{})
	}
	now, err := f.store.MarksAt(ctx, seqs...)
	if err != nil {
		return err
	}
	for i, seq := range seqs {
		if mark, there := now[seq]; there && mark == marks[i] {
			return f.drop(ctx, seqs[:i], reach{low: min(f.reach.low, seq), high: seq, mark: mark})
		}
	}
	return f.drop(ctx, seqs, reach{low: f.reach.low, high: seqs[len(seqs)-1], mark: -1})
}

// sweep takes the next messages out of the index that the store has no more.
func (f *filler) sweep(ctx context.Context) error {
	seqs, marks, err := f.noted(ctx, f.swept, sweepStep)
	if err != nil || len(seqs) == 0 {
		f.swept = 0
		return err
	}
	now, err := f.store.MarksAt(ctx, seqs...)
	if err != nil {
		return err
	}
	var gone []int64
	for i, seq := range seqs {
		if mark, there := now[seq]; !there || mark != marks[i] {
			gone = append(gone, seq)
		}
	}
	if len(gone) > 0 {
		err = f.drop(ctx, gone, f.reach)
	}
	if err == nil {
		f.swept = seqs[len(seqs)-1] - 1
	}
	return err
}
