package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Usage is what calls of models used that have its texts in common (TR8).
type Usage struct {
	// Day is the day in the zone of the budgets, such as 2026-11-22.
	Day string `json:"day"`
	// Person is who wrote the message, such as telegram:4711, Session the id of the conversation, Job the run of a job; empty: none.
	Budget  string `json:"budget"`
	Agent   string `json:"agent"`
	Model   string `json:"model"`
	Person  string `json:"person,omitempty"`
	Session string `json:"session,omitempty"`
	Job     string `json:"job,omitempty"`
	// Unpriced are the tokens of calls whose cost is not known, Cost the money for the others in billionths.
	Calls    int64 `json:"-"`
	In       int64 `json:"in"`
	Out      int64 `json:"out"`
	Cached   int64 `json:"-"`
	Unpriced int64 `json:"unpriced,omitempty"`
	Cost     int64 `json:"cost,omitempty"`
	// Priced is how many of the calls have a known cost, Estimated how many are counted by an estimate.
	Priced    int64 `json:"priced,omitempty"`
	Estimated int64 `json:"-"`
}

func (u *Usage) fields() []any {
	return []any{&u.Day, &u.Budget, &u.Agent, &u.Model, &u.Person, &u.Session, &u.Job, &u.Calls, &u.In, &u.Out, &u.Cached, &u.Unpriced, &u.Cost, &u.Priced, &u.Estimated}
}

const usageColumns = `day, budget, agent, model, person, session, job, calls, tokens_in, tokens_out, tokens_cached, tokens_unpriced, cost, priced, estimated`

const addUsage = ` ON CONFLICT (day, budget, agent, model, person, session, job) DO UPDATE SET calls = calls + excluded.calls,
	tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out, tokens_cached = tokens_cached + excluded.tokens_cached,
	tokens_unpriced = tokens_unpriced + excluded.tokens_unpriced, cost = cost + excluded.cost, priced = priced + excluded.priced, estimated = estimated + excluded.estimated`

var putUsage = insertion("INSERT INTO usage", usageColumns, addUsage)

// Notice is something that was said about a budget: that Percent of it are used in a window.
type Notice struct {
	Budget, Window, Period string
	Percent                int
	At                     time.Time
	Text                   string
}

func (n *Notice) fields() []any {
	return []any{&n.Budget, &n.Window, &n.Period, &n.Percent, (*stamp)(&n.At), &n.Text}
}

const noticeColumns = `budget, window, period, percent, at, text`

var putNotice = insertion("INSERT INTO budget_notices", noticeColumns, "ON CONFLICT (budget, window, period, percent) DO UPDATE SET at = excluded.at, text = excluded.text")

// Charge is what the calls of a turn used since the charge before. It is written together with what the turn writes anyway.
type Charge struct {
	Turn string
	// N is its number in the turn, from 1. A charge that was written is not written again.
	N     int64
	Lines []Usage
	// Reserved is what the calls that follow may use, one for each of those that are made at the same time. A turn that is cut off is
	// charged them.
	Reserved []Usage
	Notices  []Notice
}

// reserved is the column of that name.
func (c *Charge) reserved() any {
	if c == nil || len(c.Reserved) == 0 {
		return nil
	}
	var value any = c.Reserved
	if len(c.Reserved) == 1 { // what earlier versions read
		value = c.Reserved[0]
	}
	text, _ := json.Marshal(value) // texts and numbers: it always marshals
	return string(text)
}

// readReserved are the reservations in a column; none if the database was changed by hand.
func readReserved(text string) (calls []Usage) {
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	if json.Unmarshal([]byte(text), &calls) != nil {
		return nil
	}
	return slices.DeleteFunc(calls, func(u Usage) bool { return u.Day == "" || min(u.In, u.Out, u.Unpriced, u.Cost) < 0 })
}

// number is the charge's number; 0 for none.
func (c *Charge) number() int64 {
	if c == nil {
		return 0
	}
	return c.N
}

// Charge writes a charge on its own: of a call that no write of its turn precedes or follows.
func (s *Store) Charge(ctx context.Context, c *Charge) error {
	return s.write(ctx, "charge turn "+c.Turn, func(t *tx) error { return t.charge(c) })
}

// charge writes c unless it was written before. The turn may have ended, or be deleted.
func (t *tx) charge(c *Charge) error {
	if c == nil {
		return nil
	}
	n, err := t.exec(`UPDATE turns SET reserved = ?, charged = ? WHERE id = ? AND charged < ?`, c.reserved(), c.N, c.Turn, c.N)
	if err != nil {
		return err
	}
	if n == 0 {
		var one int
		if written, err := t.found(`SELECT 1 FROM turns WHERE id = ?`, []any{c.Turn}, &one); written || err != nil {
			return err
		}
	}
	return t.addCharge(c)
}

// addCharge adds what c has to the counters.
func (t *tx) addCharge(c *Charge) error {
	if c == nil {
		return nil
	}
	for i := range c.Lines {
		if err := t.do(putUsage, c.Lines[i].fields()...); err != nil {
			return err
		}
	}
	for i := range c.Notices {
		if err := t.do(putNotice, c.Notices[i].fields()...); err != nil {
			return err
		}
	}
	return nil
}

// ChargeCut charges the turns that an earlier life left with a call under way what was reserved for the call, and returns how many
// there were. It is called before the first turn of a life.
func (s *Store) ChargeCut(ctx context.Context) (int, error) {
	return result(ctx, s, "charge calls that were cut off", func(t *tx) (int, error) { return t.chargeCut("") })
}

// chargeCut charges what the turns of a session have reserved, or those of all sessions if it is empty.
func (t *tx) chargeCut(session string) (n int, err error) {
	query, args := `SELECT id, reserved FROM turns WHERE reserved IS NOT NULL LIMIT 1`, []any{}
	if session != "" {
		query, args = `SELECT id, reserved FROM turns WHERE session_id = ? AND reserved IS NOT NULL LIMIT 1`, []any{session}
	}
	for {
		var id, text string
		found, err := t.found(query, args, &id, &text)
		if err != nil || !found {
			return n, err
		}
		if err := t.do(`UPDATE turns SET reserved = NULL WHERE id = ?`, id); err != nil {
			return n, err
		}
		for _, u := range readReserved(text) {
			u.Calls, u.Estimated, u.Priced = 1, 1, min(max(u.Priced, 0), 1)
			if err := t.do(putUsage, u.fields()...); err != nil {
				return n, err
			}
			n++
		}
	}
}

// EndRequest writes the last charge of a turn, and deletes its session as ForgetSessions does.
func (s *Store) EndRequest(ctx context.Context, sessionID string, c *Charge) error {
	return s.write(ctx, "end request "+sessionID, func(t *tx) error {
		if err := t.charge(c); err != nil {
			return err
		}
		return t.forgetSession(sessionID)
	})
}

// Used is what a budget has used in a window: the money in billionths and the tokens without a price, with the highest percentage
// that was said about it.
type Used struct {
	Cost, Unpriced int64
	Percent        int
}

func (u *Used) fields() []any { return []any{&u.Cost, &u.Unpriced, &u.Percent} }

// usedWhere has the SQL for each window. period is a day, a month, the id of a conversation, a day with a person, a run.
var usedWhere = map[string]string{
	"day":     `day = ?2`,
	"tokens":  `day = ?2`,
	"month":   `day >= ?2 || '-01' AND day <= ?2 || '-31'`,
	"session": `session = ?2`,
	"person":  `day = substr(?2, 1, 10) AND person = substr(?2, 12)`,
	"job":     `job = ?2`,
}

// UsedIn is what a budget has used in a window: day, tokens, month, session, person, job. The period of a person is a day and, after
// a space, the person.
func (s *Store) UsedIn(ctx context.Context, budget, window, period string) (Used, error) {
	where, known := usedWhere[window]
	if !known {
		return Used{}, fmt.Errorf("there is no window %s of a budget", window)
	}
	v, _, err := first[Used](ctx, s, "read what budget "+budget+" has used", `SELECT coalesce(sum(cost), 0), coalesce(sum(tokens_unpriced), 0),
		(SELECT coalesce(max(percent), 0) FROM budget_notices n WHERE n.budget = ?1 AND n.window = ?3 AND n.period = ?2)
		FROM usage WHERE budget = ?1 AND `+where, budget, period, window)
	return v, err
}

// Rate is what a model's priced calls have cost: the money in billionths for so many tokens.
type Rate struct {
	Model        string
	Cost, Tokens int64
}

func (r *Rate) fields() []any { return []any{&r.Model, &r.Cost, &r.Tokens} }

// Rates are those of the models with priced calls since a day.
func (s *Store) Rates(ctx context.Context, since string) ([]Rate, error) {
	return list[Rate](ctx, s, "read what models cost", `SELECT model, sum(cost), sum(tokens_in + tokens_out - tokens_unpriced) FROM usage WHERE day >= ? AND priced > 0 GROUP BY model`, since)
}

// usageGroups are the columns by which UsageBy groups. A conversation is shown by its key.
var usageGroups = map[string]string{
	"day": "u.day", "agent": "u.agent", "person": "u.person", "model": "u.model", "session": "coalesce((SELECT s.key FROM sessions s WHERE s.id = u.session), u.session)",
}

// UsageGroup is usage with the name of what it is of.
type UsageGroup struct {
	Name string
	Usage
}

func (g *UsageGroup) fields() []any {
	return []any{&g.Name, &g.Calls, &g.In, &g.Out, &g.Cached, &g.Unpriced, &g.Cost, &g.Priced, &g.Estimated}
}

// UsageBy is what was used since a day, by day, agent, person, model or session: days in their order, others by their cost, at most
// limit.
func (s *Store) UsageBy(ctx context.Context, by, since string, limit int) ([]UsageGroup, error) {
	column, known := usageGroups[by]
	if !known {
		return nil, fmt.Errorf("usage is not known by %s", by)
	}
	order := "7 DESC, 6 DESC, 3 + 4 DESC, 1"
	if by == "day" {
		order = "1 DESC"
	}
	return list[UsageGroup](ctx, s, "read what was used", `SELECT `+column+`, sum(u.calls), sum(u.tokens_in), sum(u.tokens_out), sum(u.tokens_cached), sum(u.tokens_unpriced),
		sum(u.cost), sum(u.priced), sum(u.estimated) FROM usage u WHERE u.day >= ? GROUP BY 1 ORDER BY `+order+` LIMIT ?`, since, limit)
}

// BudgetNotices are what was said about budgets since a time, newest first, at most limit.
func (s *Store) BudgetNotices(ctx context.Context, since time.Time, limit int) ([]Notice, error) {
	return list[Notice](ctx, s, "read the warnings about budgets", `SELECT `+noticeColumns+` FROM budget_notices WHERE at >= ? ORDER BY seq DESC LIMIT ?`, stamp(since), limit)
}

// Raise is a budget that was lifted until a time, by money in billionths and by tokens a day.
type Raise struct {
	Budget        string
	Money, Tokens int64
	Until, At     time.Time
	By            string
}

func (r *Raise) fields() []any {
	return []any{&r.Budget, &r.Money, &r.Tokens, (*stamp)(&r.Until), (*stamp)(&r.At), &r.By}
}

const raiseColumns = `budget, money, tokens, until, at, by`

var putRaise = insertion("INSERT INTO budget_raises", raiseColumns, "")

// PutRaise lifts a budget.
func (s *Store) PutRaise(ctx context.Context, r Raise) error {
	return s.change(ctx, "raise budget "+r.Budget, putRaise, r.fields()...)
}

// Raises are those that still hold at a time.
func (s *Store) Raises(ctx context.Context, at time.Time) ([]Raise, error) {
	return list[Raise](ctx, s, "read raised budgets", `SELECT `+raiseColumns+` FROM budget_raises WHERE until > ? ORDER BY seq`, stamp(at))
}
