package store

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"
)

// Spent is what turns used.
type Spent struct {
	Turns int64
	// TokensCached are those of TokensIn that came from a model's cache, Unpriced those of both directions whose cost is not known.
	TokensIn, TokensOut, TokensCached, Unpriced int64
	// Cost is the money for the others; Priced says that there are some.
	Cost   float64
	Priced bool
}

func (v *Spent) fields() []any {
	return []any{&v.Turns, &v.TokensIn, &v.TokensOut, &v.TokensCached, &v.Unpriced, money{&v.Cost, &v.Priced}}
}

const spentColumns = `count(*), coalesce(sum(t.tokens_in), 0), coalesce(sum(t.tokens_out), 0), coalesce(sum(t.tokens_cached), 0), coalesce(sum(t.tokens_unpriced), 0), sum(t.cost)`

// SpentIn is what the turns of a session used that have ended.
func (s *Store) SpentIn(ctx context.Context, sessionID string) (Spent, error) {
	v, _, err := first[Spent](ctx, s, "read what "+sessionID+" used", `SELECT `+spentColumns+` FROM turns t WHERE t.session_id = ? AND t.state <> 'running'`, sessionID)
	return v, err
}

// SpentLast is what the last turn of a session used that has ended, if there is one.
func (s *Store) SpentLast(ctx context.Context, sessionID string) (Spent, bool, error) {
	v, _, err := first[Spent](ctx, s, "read what the last turn of "+sessionID+" used", `SELECT `+spentColumns+` FROM turns t
		WHERE t.id = (SELECT max(id) FROM turns WHERE session_id = ? AND state <> 'running')`, sessionID)
	return v, v.Turns > 0, err
}

// SpentBy is what the turns on messages of a person of a platform used that began at since or later. Platforms end a user with their
// id of the person, alone or in parentheses.
func (s *Store) SpentBy(ctx context.Context, platform, person string, since time.Time) (Spent, error) {
	var least ulid.ULID // the ids of turns sort by their time
	if err := least.SetTime(ulid.Timestamp(since)); err != nil {
		return Spent{}, err
	}
	v, _, err := first[Spent](ctx, s, "read what a person used", `SELECT `+spentColumns+` FROM turns t JOIN sessions s ON s.id = t.session_id
		WHERE t.id >= ? AND t.started_at >= ? AND s.platform = ? AND (t.who = ? OR substr(t.who, -length(?)) = ?)`,
		least.String(), stamp(since), platform, person, "("+person+")", "("+person+")")
	return v, err
}
