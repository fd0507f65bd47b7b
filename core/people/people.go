// Package people deletes what a gateway keeps of a person (CV13).
//
// What it promises: a person's turns, agents and processes end first. What is from before the request is deleted from every file
// of the home that this gateway writes texts into, but for backups, quarantined files and the work folder. A deletion that a crash
// or a stop cut off goes on in the next life. The writer of the store is never held for long.
package people

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Conversations are what a person takes part in. *conversation.Conversations is one.
type Conversations interface {
	// Forget ends a conversation with its agent and its processes; there may be none.
	Forget(ctx context.Context, key string) error
	// DropAgent takes the agent of a session out of the cache, now or when its turn ends.
	DropAgent(key string)
}

// Store keeps the rows. *store.Store is one.
type Store interface {
	PutForgetting(ctx context.Context, f store.Forgetting) error
	DropForgetting(ctx context.Context, f store.Forgetting) error
	Forgettings(ctx context.Context) ([]store.Forgetting, error)
	OwnKeys(ctx context.Context, f store.Forgetting) ([]string, error)
	SharedWith(ctx context.Context, f store.Forgetting) ([]string, error)
	CountForgotten(ctx context.Context, f store.Forgetting) (store.Forgotten, error)
	Forget(ctx context.Context, f store.Forgetting) (store.Forgotten, error)
	Wipe(ctx context.Context) error
}

// Holder keeps something of people outside of the store's rows.
type Holder struct {
	// Kind names what it keeps, in the plural.
	Kind string
	// Forget deletes what it keeps of a person, whose own sessions have these keys, and returns how much that was. It may be called
	// again.
	Forget func(ctx context.Context, f store.Forgetting, keys []string) (int, error)
}

// Options are what People need. Every field is required.
type Options struct {
	Log           *slog.Logger
	Conversations Conversations
	// Store is the open store; it returns nil before there is one.
	Store func() Store
	// Before are asked before the rows are deleted, After when they are.
	Before, After []Holder
}

// People deletes what is kept of people. Its methods may be called from any goroutine.
type People struct {
	o Options
	// one holds a token: one person at a time.
	one chan struct{}
}

// New returns People. It does no I/O.
func New(o Options) *People { return &People{o: o, one: make(chan struct{}, 1)} }

// person is how people name a person: the platform, and its id of them.
var person = text.Lazily(`^([a-z][a-z0-9_-]{0,63}):([A-Za-z0-9@._:+=!~^{}|\[\]\\$&'*?\x60-]{1,200})$`)

// Read reads the name of a person. The error is an *ops.Error.
func Read(name string) (store.Forgetting, error) {
	m := person().FindStringSubmatch(name)
	if m == nil {
		return store.Forgetting{}, &ops.Error{Code: ops.CodeInvalid, Message: term.Quote(name) + " does not name a person", Hint: "write the platform and its id of the person, for instance telegram:4711"}
	}
	return store.Forgetting{Platform: m[1], ID: m[2], At: time.Now()}, nil
}

// Preview is what Forget would delete now, one line a kind.
func (p *People) Preview(ctx context.Context, name string) ([]string, error) {
	f, err := Read(name)
	if err != nil {
		return nil, err
	}
	n, err := p.o.Store().CountForgotten(ctx, f)
	return lines(n), err
}

// Forget deletes what there is of a person and returns how much of each kind. It is bounded by ctx; a deletion that was cut off
// goes on in the next life.
func (p *People) Forget(ctx context.Context, name string) (detail string, result ops.ForgetResult, err error) {
	f, err := Read(name)
	if err != nil {
		return "", result, err
	}
	result = ops.ForgetResult{Person: name, Deleted: map[string]int{}}
	if err := p.o.Store().PutForgetting(ctx, f); err != nil {
		return "", result, err
	}
	deleted, err := p.forget(ctx, f)
	maps.Copy(result.Deleted, deleted)
	if err != nil {
		return "", result, fmt.Errorf("%w; the deletion goes on at the next start, or with the same command", err)
	}
	return said(result.Deleted), result, nil
}

// Finish goes on with the deletions that an earlier life began.
func (p *People) Finish(ctx context.Context) {
	all, err := p.o.Store().Forgettings(ctx)
	if err != nil {
		p.o.Log.Warn(ops.LogForget, "error", term.Clean(err.Error(), 300))
	}
	for _, f := range all {
		deleted, err := p.forget(ctx, f)
		if err != nil {
			p.o.Log.Warn(ops.LogForget, "error", term.Clean(err.Error(), 300))
			continue
		}
		p.o.Log.Info(ops.LogForget, "person", f.Platform+":"+f.ID, "detail", said(deleted))
	}
}

// forget deletes what there is of a person from before f.At.
func (p *People) forget(ctx context.Context, f store.Forgetting) (store.Forgotten, error) {
	select {
	case p.one <- struct{}{}:
		defer func() { <-p.one }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	st := p.o.Store()
	keys, err := st.OwnKeys(ctx, f)
	if err != nil {
		return nil, err
	}
	shared, err := st.SharedWith(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := p.o.Conversations.Forget(ctx, key); err != nil {
			return nil, fmt.Errorf("end the conversation %s: %w", key, err)
		}
	}
	all := store.Forgotten{}
	hold := func(holders []Holder) error {
		for _, h := range holders {
			n, err := h.Forget(ctx, f, keys)
			if n > 0 {
				all[h.Kind] += n
			}
			if err != nil {
				return fmt.Errorf("delete %s: %w", h.Kind, err)
			}
		}
		return nil
	}
	if err := hold(p.o.Before); err != nil {
		return all, err
	}
	rows, err := st.Forget(ctx, f)
	maps.Copy(all, rows)
	if err != nil {
		return all, err
	}
	for _, key := range shared { // an agent remembers what was said
		p.o.Conversations.DropAgent(key)
	}
	if err := hold(p.o.After); err != nil {
		return all, err
	}
	if err := p.wipe(ctx, st); err != nil {
		return all, err
	}
	return all, st.DropForgetting(ctx, f)
}

const (
	// wipeTries is how often the -wal is emptied at most, wipePause the time between two tries: a long read keeps it.
	wipeTries = 5
	wipePause = time.Second
)

func (p *People) wipe(ctx context.Context, st Store) (err error) {
	for range wipeTries {
		if err = st.Wipe(ctx); err == nil || errors.Is(err, store.ErrClosed) {
			return err
		}
		select {
		case <-time.After(wipePause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// lines are what was deleted, one line a kind.
func lines(n store.Forgotten) (out []string) {
	for _, kind := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%s: %d", kind, n[kind]))
	}
	return out
}

// said says in one line what was deleted.
func said(n store.Forgotten) string {
	if len(n) == 0 {
		return "nothing was kept of this person"
	}
	return "deleted: " + strings.Join(lines(n), ", ") + "; the search index is made again; backups and the work folder are as they were"
}
