package budget

import (
	"strings"
	"testing"
	"time"
)

func TestTR8_ARaiseIsReadAsAPersonWritesIt(t *testing.T) {
	vienna, err := time.LoadLocation("Europe/Vienna")
	must(t, err)
	now := time.Date(2026, 10, 24, 14, 30, 0, 0, vienna) // the next day has 25 hours
	for _, tt := range []struct {
		name, amount, until string
		money               Money
		tokens              int64
		end                 string
	}{
		{"money until the end of the day", "5", "", 5 * unit, 0, "2026-10-25T00:00:00+02:00"},
		{"a part of one", "2.50", "18:00", 5 * unit / 2, 0, "2026-10-24T18:00:00+02:00"},
		{"a time that is over today", "0.000000001", "09:00", 1, 0, "2026-10-25T09:00:00+01:00"},
		{"with commas, for a time", "1,000", "90m", 1000 * unit, 0, "2026-10-24T16:00:00+02:00"},
		{"tokens, for a day", "500000tokens", "2026-10-25", 0, 500_000, "2026-10-26T00:00:00+01:00"},
		{"tokens with commas and a space", "1,000,000 tokens", "2026-10-24T20:00:00Z", 0, 1_000_000, "2026-10-24T20:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ParseRaise(tt.amount, tt.until, now, vienna)
			must(t, err)
			if Money(r.Money) != tt.money || r.Tokens != tt.tokens || r.Until.Format(time.RFC3339) != tt.end {
				t.Errorf("it is read as %d, %d tokens, until %s", r.Money, r.Tokens, r.Until.Format(time.RFC3339))
			}
		})
	}
	for _, tt := range []struct{ name, amount, until, says string }{
		{"nothing", "", "", "is not an amount over 0"},
		{"zero", "0.00", "", "is not an amount over 0"},
		{"below zero", "-5", "", "is not an amount over 0"},
		{"a word", "much", "", "is not an amount over 0"},
		{"an exponent", "1e9", "", "is not an amount over 0"},
		{"another currency", "5 GBP", "", "is not an amount over 0"},
		{"a word for the time", "5", "soon", "is not a time"},
		{"a time that is over", "5", "2026-10-23", "which is over"},
		{"a duration below zero", "5", "-1h", "which is over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseRaise(tt.amount, tt.until, now, vienna); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("it is answered %v", err)
			}
		})
	}
}

func FuzzParseRaise(f *testing.F) {
	for _, seed := range [][2]string{{"5", ""}, {"2.50", "18:00"}, {"500000tokens", "2h"}, {"1,000 t", "2026-10-24"}, {"999999999999.999999999", "2026-10-24T20:00:00Z"}} {
		f.Add(seed[0], seed[1])
	}
	now := time.Date(2026, 10, 24, 14, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, amount, until string) {
		r, err := ParseRaise(amount, until, now, time.UTC)
		if err != nil {
			return
		}
		if r.Money < 0 || r.Tokens < 0 || (r.Money > 0) == (r.Tokens > 0) || Money(r.Money) > most || !r.Until.After(now) {
			t.Errorf("%q until %q is read as %+v", amount, until, r)
		}
	})
}
