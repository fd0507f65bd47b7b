package budget

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// isAmount matches an amount of money in the currency of the budgets, such as 5 or 2.50, and isTokens a number of tokens.
var (
	isAmount = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,9})?$`)
	isTokens = regexp.MustCompile(`^([0-9]{1,15}) ?(tokens|token|t)$`)
)

// ParseRaise reads by what a budget is raised, and until when. amount is money, such as 2.50, or a number of tokens, such as
// 500000tokens. until is a moment as in RFC 3339, a day, on which it ends, a time of day, or a duration; empty is the end of the day in
// zone. Its error is for the one who wrote it.
func ParseRaise(amount, until string, now time.Time, zone *time.Location) (store.Raise, error) {
	r := store.Raise{At: now}
	amount = strings.ReplaceAll(strings.TrimSpace(amount), ",", "")
	switch tokens := isTokens.FindStringSubmatch(amount); {
	case tokens != nil:
		r.Tokens, _ = strconv.ParseInt(tokens[1], 10, 64) // 15 digits
	case isAmount.MatchString(amount):
		money, _ := strconv.ParseFloat(amount, 64) // 12 digits and 9 behind the point
		r.Money = int64(Of(money))
	}
	if r.Money == 0 && r.Tokens == 0 {
		return r, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.40q is not an amount over 0", amount), Hint: "write money as 5 or 2.50, or tokens as 500000tokens"}
	}
	var known bool
	if r.Until, known = end(until, now, zone); !known {
		return r, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.40q is not a time", until), Hint: "write 2026-11-22T18:00:00+01:00, 2026-11-22, 18:00 or 2h"}
	}
	if !r.Until.After(now) {
		return r, &ops.Error{Code: ops.CodeInvalid, Message: "a budget cannot be raised until " + r.Until.In(zone).Format(time.RFC3339) + ", which is over", Hint: "give a later time"}
	}
	return r, nil
}

// end is when a raise ends.
func end(until string, now time.Time, zone *time.Location) (time.Time, bool) {
	until = strings.TrimSpace(until)
	y, m, d := now.In(zone).Date()
	if until == "" {
		return time.Date(y, m, d+1, 0, 0, 0, 0, zone), true
	}
	if at, err := time.Parse(time.RFC3339, until); err == nil {
		return at, true
	}
	if at, err := time.ParseInLocation(time.DateOnly, until, zone); err == nil {
		return at.AddDate(0, 0, 1), true
	}
	if at, err := time.ParseInLocation("15:04", until, zone); err == nil {
		at = time.Date(y, m, d, at.Hour(), at.Minute(), 0, 0, zone)
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}
	if span, err := time.ParseDuration(until); err == nil {
		return now.Add(span), true
	}
	return time.Time{}, false
}
