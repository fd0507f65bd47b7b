package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// usage is /usage: what the last turn, this conversation, and the day of the person cost. A day begins as the budgets say, else at
// the gateway's midnight.
func (c *Conversations) usage(ctx context.Context, u use) (string, error) {
	var lines []string
	if s, known := c.o.Table.Get(u.key); known && !session.IsRequest(u.key) {
		last, found, err := c.store.SpentLast(ctx, s.ID)
		if err != nil {
			return "", fmt.Errorf("read the usage of %s: %w", u.key, err)
		}
		if found {
			lines = append(lines, "Last turn: "+spent(last))
			all, err := c.store.SpentIn(ctx, s.ID)
			if err != nil {
				return "", fmt.Errorf("read the usage of %s: %w", u.key, err)
			}
			all.TokensIn, all.TokensOut, all.TokensCached = max(all.TokensIn, s.TokensIn), max(all.TokensOut, s.TokensOut), max(all.TokensCached, s.TokensCached)
			all.Cost, all.Priced = max(all.Cost, s.Cost), all.Priced || s.Priced
			lines = append(lines, "This conversation: "+spent(all))
		}
	}
	if who := session.PersonOf(u.msg.User); who != "" && who != session.Platform(u.key) { // that is what programs are without a name
		zone := time.Local
		if c.o.Budget != nil {
			zone = c.o.Budget.Zone()
		}
		year, month, day := time.Now().In(zone).Date()
		today, err := c.store.SpentBy(ctx, session.Platform(u.key), who, time.Date(year, month, day, 0, 0, 0, 0, zone))
		if err != nil {
			return "", fmt.Errorf("read the usage of a person: %w", err)
		}
		if today.Turns > 0 {
			lines = append(lines, "You, today: "+spent(today))
		}
	}
	if len(lines) == 0 {
		return "Nothing was used yet.", nil
	}
	return strings.Join(lines, "\n"), nil
}

// spent is what turns used, for a person.
func spent(v store.Spent) string {
	said := fmt.Sprintf("%s tokens in", humanize.Comma(v.TokensIn))
	if v.TokensCached > 0 {
		said += fmt.Sprintf(" (%s cached)", humanize.Comma(v.TokensCached))
	}
	said += fmt.Sprintf(", %s out", humanize.Comma(v.TokensOut))
	switch {
	case v.Priced && v.Unpriced > 0:
		return said + fmt.Sprintf("; cost %s, without %s tokens whose price is not known.", ops.Amount(v.Cost), humanize.Comma(v.Unpriced))
	case v.Priced:
		return said + fmt.Sprintf("; cost %s.", ops.Amount(v.Cost))
	}
	return said + "; the price is not known."
}
