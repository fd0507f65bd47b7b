package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// verifyAtOnce is the size of a database up to which a start waits until it is read; a larger one is read while the gateway works.
const verifyAtOnce = 8 << 20

// OpenStore opens the store. It reads the store whole where the life before did not say that it ended, or knew of damage. A
// damaged database is never written to: it is kept as it is, and only an operator's choice begins another one, or runs on
// it read-only (F8). It is called once.
func (r *Recovery) OpenStore(ctx context.Context) (st *store.Store, err error) {
	defer func() {
		if err == nil {
			r.db.Store(st)
		}
	}()
	doubted := r.o.DamagedBefore || r.o.FreshStore || r.o.ReadOnlyStore // it is read before it can be written to, at any size
	o := store.Options{Path: r.o.Database, Log: r.log, OnTransaction: r.o.OnTransaction, Verify: r.o.LifeBefore == "" || doubted}
	if info, err := os.Stat(o.Path); err == nil && o.Verify && !doubted && info.Size() > verifyAtOnce {
		o.Verify, r.verifyLater = false, true
	}
	st, err = store.Open(ctx, o)
	damage, is := errors.AsType[*store.DamagedError](err)
	switch {
	case !is:
		return st, err
	case r.o.ReadOnlyStore:
		o.ReadOnly = true
		if st, err = store.Open(ctx, o); err == nil {
			r.o.Health.RejectMessages(damage, "nothing is written to it. Stop the gateway, then repair the database with sqlite3's .recover, or start once with --fresh-store, which quarantines it and begins with an empty one")
			r.unrecorded = true
		}
		return st, err
	case !r.o.FreshStore:
		return nil, r.refuseDamaged(damage, "nothing was changed; ")
	}
	quarantined, err := store.QuarantineFile(o.Path, time.Now())
	if err != nil {
		return nil, err
	}
	r.o.Health.Warn("store.fresh", fmt.Sprintf("the database was corrupt and moved to %s; started with a new database", quarantined))
	return store.Open(ctx, o)
}

// inspectBound is what a start that has failed may take to say in which table the damage is.
const inspectBound = 5 * time.Second

// failStart ends a start that met damage in a database that it had trusted.
func (r *Recovery) failStart(ctx context.Context, damage *store.DamagedError) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inspectBound)
	defer cancel()
	r.Store().StopWriting()
	err := r.Store().Close(ctx)
	if worse, is := errors.AsType[*store.DamagedError](store.Inspect(ctx, r.o.Database, r.log)); is {
		damage = worse
	}
	return errors.Join(r.refuseDamaged(damage, ""), err)
}

// refuseDamaged is the error of a start that needs a person's word; kept says what became of the database, which is closed.
func (r *Recovery) refuseDamaged(damage *store.DamagedError, kept string) error {
	copied, err := store.KeepCopy(r.o.Database)
	if err != nil {
		r.log.Warn("damaged database not copied", "error", term.Clean(err.Error(), 300))
	} else {
		kept += copied + " is a copy; "
	}
	return &refused{ops.Error{
		Code: ops.CodeInternal, Message: term.Clean(damage.Error(), 600),
		Hint: kept + "repair it with sqlite3's .recover, or start with --read-only-store to look at what can be read, or start once with --fresh-store, which quarantines it and begins with an empty one",
	}, damage}
}

// refused is what an operator reads of a start that the database refused, with the error of the store behind it.
type refused struct {
	answer ops.Error
	cause  error
}

func (r *refused) Error() string { return r.answer.Error() }

// Unwrap returns both, so that errors.Is finds store.ErrUnusable.
func (r *refused) Unwrap() []error { return []error{&r.answer, r.cause} }

// VerifyLater reads a database that was too large for the start to wait for, on a task. It begins when ready is closed, so
// that the adapters connect first.
func (r *Recovery) VerifyLater(ctx context.Context, ready <-chan struct{}) {
	if r.verifyLater {
		r.o.Background.Start(ctx, "verify store", "", func(ctx context.Context) { r.verify(ctx, ready) })
	}
}

func (r *Recovery) verify(ctx context.Context, ready <-chan struct{}) {
	select {
	case <-ready: // bounded by the supervisor's first attempts
	case <-ctx.Done():
		return
	}
	err := r.Store().Verify(ctx)
	if damage, is := errors.AsType[*store.DamagedError](err); is {
		r.o.Health.StopWriting(damage)
	} else if err != nil && ctx.Err() == nil {
		r.log.Warn("store not verified", "error", term.Clean(err.Error(), 300))
	}
}

// shownRows is how many impossible rows a warning names; the table quarantine has them all.
const shownRows = 5

// quarantine takes the rows that cannot be true out of what a start believes, and names them.
func (r *Recovery) quarantine(ctx context.Context, tables []string) ([]store.InvalidRow, error) {
	rows, err := r.Store().QuarantineRows(ctx, tables, time.Now())
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r.o.Health.Warn("store.rows", fmt.Sprintf("%d %s of the database cannot be true and nothing is done for them; they are kept in its table quarantine: %s",
		len(rows), text.Plural(len(rows), "row", "rows"), namedRows(rows)))
	return rows, nil
}

// namedRows names the first of rows.
func namedRows(rows []store.InvalidRow) string {
	var named []string
	for _, r := range rows[:min(len(rows), shownRows)] {
		named = append(named, term.Clean(r.String(), 200))
	}
	if more := len(rows) - shownRows; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, "; ")
}

// warnOfSchema names what of the database's schema no gateway made (HF31).
func (r *Recovery) warnOfSchema(foreign []store.InvalidRow) {
	if len(foreign) == 0 {
		return
	}
	r.o.Health.Warn("store.schema", fmt.Sprintf("the schema of the database has %d %s that no gateway made; what was dropped is kept in its table quarantine: %s",
		len(foreign), text.Plural(len(foreign), "object", "objects"), namedRows(foreign)))
}

// warnOfChanges warns of each changed default that this home relied on: found is the schema version that the store had
// before this start, 0 for a new store. The store has the current version from now on, so that the next life does not
// warn again.
func (r *Recovery) warnOfChanges(found int) {
	if found == 0 {
		return
	}
	for _, c := range r.o.Changes {
		if found >= c.Schema {
			continue
		}
		w := c.Warning()
		w.Since = ops.At(time.Now())
		r.log.Warn("default changed", "event", w.Code, "key", c.Key, "old", c.Old, "new", c.New, "text", w.Message)
		r.o.Health.Keep(w)
	}
}
