package adapter

import (
	"net/http"
	"testing"
	"time"
)

func TestPL_DoctorSaysThatTheClockIsOff(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		date time.Time
		want string
		well bool
	}{
		{"it agrees", now.Add(-20 * time.Second), "the clock agrees with the platform's", true},
		{"it is ahead", now.Add(-5 * time.Minute), "this machine's clock is 5m00s ahead of the platform's", false},
		{"it is behind", now.Add(2 * time.Hour), "this machine's clock is 2h00m behind the platform's", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, is := ClockFinding(now, http.Header{"Date": {tc.date.Format(http.TimeFormat)}})
			if !is || f.Text != tc.want || (f.Fix == "") != tc.well {
				t.Errorf("found %+v, %t", f, is)
			}
		})
	}
	if _, is := ClockFinding(now, http.Header{}); is {
		t.Error("an answer without a date has a clock")
	}
}
