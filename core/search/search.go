// Package search finds what was said: a full-text index of the store's messages in a file of its own.
//
// What it promises: the store never waits for the index. One goroutine fills it behind a watermark, new messages first, then
// older ones from the newest to the oldest, in small steps with pauses. The index can be deleted at any time: a missing, damaged
// or other one is made again, with a warning, and no start fails for it. It has words alone: what a search returns is read
// from the store, so that a deleted message is never returned. The bodies of messages are in no log.
//
// The lock of an Index is a leaf: it guards what the goroutine shares with searches, and is never held over I/O.
package search

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Store is what the index reads. *store.Store is one.
type Store interface {
	Newest(ctx context.Context) (seq int64, err error)
	SpokenIn(ctx context.Context, least, most int64) ([]store.Spoken, error)
	MarksAt(ctx context.Context, seqs ...int64) (map[int64]int64, error)
	SaidAt(ctx context.Context, seqs ...int64) ([]store.Said, error)
	// Shrink gives back what earlier reads keep in memory.
	Shrink(ctx context.Context)
}

// Options are what an Index needs.
type Options struct {
	// Path is the file of the index; its folder exists and is private.
	Path string
	Log  *slog.Logger
	// Warn logs a warning and shows it for the rest of this life.
	Warn func(code, text string)
}

// Index finds messages. Its methods may be called from any goroutine.
type Index struct {
	o     Options
	store Store
	// wake, sweep and broken have room for one.
	wake, sweep chan struct{}
	broken      chan error      // what a search found wrong with the file
	forgets     chan chan error // asks for the removal of the file, and gets its result
	cancel      context.CancelFunc
	done        chan struct{} // closed when the goroutine has ended; nil: it was not started

	mu   sync.Mutex // guards what follows
	file *file      // nil: it is not open
	why  string     // why it is not, for people
	// reach is how far the index goes, building says since when older messages are missing in it; zero: none are.
	reach    reach
	newest   int64
	building time.Time
}

// New returns an index that does nothing before Start.
func New(o Options) *Index {
	return &Index{o: o, wake: make(chan struct{}, 1), sweep: make(chan struct{}, 1), broken: make(chan error, 1), forgets: make(chan chan error), why: "the index is not open yet"}
}

// Start begins to fill the index from st once ready is closed, on a goroutine that ends with Close. It is called once.
func (x *Index) Start(st Store, ready <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	x.store, x.cancel, x.done = st, cancel, make(chan struct{})
	go func() {
		defer close(x.done)
		select {
		case <-ready:
			x.run(ctx)
		case <-ctx.Done():
		}
	}()
}

// Wake says that the store has new rows. It never waits.
func (x *Index) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Sweep says that old messages of the store were deleted. It never waits.
func (x *Index) Sweep() {
	select {
	case x.sweep <- struct{}{}:
	default:
	}
}

// Forget removes the index, which has words of messages that were deleted, and begins to make it again. It waits until ctx ends.
func (x *Index) Forget(ctx context.Context) error {
	if x.o.Path == "" {
		return nil
	}
	if x.done == nil {
		return remove(x.o.Path)
	}
	removed := make(chan error, 1)
	select {
	case x.forgets <- removed:
	case <-x.done:
		return remove(x.o.Path)
	case <-ctx.Done():
		return fmt.Errorf("remove the search index: %w", context.Cause(ctx))
	}
	select {
	case err := <-removed:
		return err
	case <-x.done:
		return remove(x.o.Path)
	case <-ctx.Done():
		return fmt.Errorf("remove the search index: %w", context.Cause(ctx))
	}
}

// Close ends the goroutine and closes the file. It waits until ctx ends. It may be called again, and without Start.
func (x *Index) Close(ctx context.Context) error {
	if x.done == nil {
		return nil
	}
	x.cancel()
	select {
	case <-x.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the search index: %w", context.Cause(ctx))
	}
}

// Rows is the work on the index as a background task, while older messages are missing in it.
func (x *Index) Rows(now time.Time) []ops.Background {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.building.IsZero() {
		return nil
	}
	return []ops.Background{{
		ID: "search", Name: "build search index", StartedAt: ops.At(x.building), AgeMS: ops.Millis(now.Sub(x.building)),
		Progress: fmt.Sprintf("at most %d older %s left", x.reach.low-1, text.Plural(int(x.reach.low-1), "message is", "messages are")),
		Percent:  ops.Percent(x.newest-x.reach.low+1, x.newest),
	}}
}

// Query is what is looked for.
type Query struct {
	Text string
	// Session bounds the search to the conversations of a session's key. Platform and User bound it to the turns of one user of a
	// platform. Empty: no bound.
	Session        string
	Platform, User string
	// Before is the ID of a message: only older ones are found. Limit is as in ops.Query.
	Before string
	Limit  int
}

// scope is the word of the index that bounds the search; empty: none does.
func (q Query) scope() string {
	switch {
	case q.Session != "":
		return sessionScope(session.Owner(q.Session))
	case q.User != "":
		return ownerScope(q.Platform, q.User)
	}
	return ""
}

// within reports whether a message is within the bound of q. Two names may have one word in the index.
func (q Query) within(m store.Said) bool {
	switch {
	case q.Session != "":
		return session.Owner(m.Key) == session.Owner(q.Session)
	case q.User != "":
		return m.Platform == q.Platform && session.PersonOf(m.User) == session.PersonOf(q.User)
	}
	return true
}

// rounds bounds how often a search looks for more where what it found is deleted.
const rounds = 8

// Find returns what matches q, newest first.
func (x *Index) Find(ctx context.Context, q Query) (ops.Found, error) {
	found := ops.Found{Page: ops.Page[ops.Hit]{Items: []ops.Hit{}}}
	match, words, err := parse(q.Text, q.scope())
	if err != nil {
		return found, err
	}
	before := int64(1<<63 - 1)
	if q.Before != "" {
		if before, err = strconv.ParseInt(q.Before, 10, 64); err != nil {
			return found, &ops.Error{Code: ops.CodeInvalid, Message: term.Quote(q.Before) + " is not the place of a page", Hint: "start again without it"}
		}
	}
	x.mu.Lock()
	f, why := x.file, x.why
	found.Unindexed = max(x.reach.low-1, 0) + max(x.newest-x.reach.high, 0)
	x.mu.Unlock()
	if f == nil {
		return found, &ops.Error{Code: ops.CodeUnavailable, Message: "nothing can be searched: " + why, Hint: "try again in a moment"}
	}
	limit := ops.PageSize(q.Limit)
	for range rounds {
		ask := limit + 1 - len(found.Items)
		seqs, err := matching(ctx, f, match, before, ask)
		if err != nil {
			return found, x.unread(ctx, err)
		}
		said, err := x.store.SaidAt(ctx, seqs...)
		if err != nil {
			return found, x.unread(ctx, err)
		}
		for _, m := range said {
			if !q.within(m) {
				continue
			}
			if len(found.Items) == limit {
				found.Next = found.Items[limit-1].ID
				return found, nil
			}
			found.Items = append(found.Items, hit(m, words))
		}
		if len(seqs) < ask {
			return found, nil
		}
		before = seqs[len(seqs)-1]
	}
	found.Next = strconv.FormatInt(before, 10)
	return found, nil
}

// matching are the numbers of the newest messages that match, from the index alone.
func matching(ctx context.Context, f *file, match string, before int64, limit int) (seqs []int64, err error) {
	rows, err := f.read.QueryContext(ctx, "SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?", match, before, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, rows.Err()
}

// unread is the answer to a search that failed. A damaged index is made again by its goroutine.
func (x *Index) unread(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the search took too long", Hint: "look for rarer words, or for whole words"}
	}
	if remakable(err) {
		select {
		case x.broken <- err:
		default:
		}
	}
	return &ops.Error{Code: ops.CodeUnavailable, Message: "the search failed: " + term.Clean(store.Reason(err), 200), Hint: "try again in a moment"}
}

// hit is a message that was found as operators see it.
func hit(m store.Said, words []string) ops.Hit {
	return ops.Hit{
		Session: m.Key, Conversation: m.Session, Title: m.Title, ID: strconv.FormatInt(m.Seq, 10), Turn: m.Turn, Role: m.Role,
		Who: m.Who, At: ops.At(m.At), Snippet: snippet(m.Content, words), Undone: m.Undone,
	}
}
