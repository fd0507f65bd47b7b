package text

import (
	"testing"
	"time"
)

func TestADurationIsSaidInItsTwoLargestUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", time.Nanosecond: "1ms", 999 * time.Millisecond: "999ms", time.Second: "1.0s", 9940 * time.Millisecond: "9.9s",
		10 * time.Second: "10s", 59900 * time.Millisecond: "59s", time.Minute: "1m00s", 61500 * time.Millisecond: "1m01s", time.Hour: "1h00m",
		25*time.Hour + 59*time.Minute: "1d01h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := Ago(time.Time{}) + Until(time.Time{}) + Until(time.Now().Add(-time.Second)) + Moment(time.Time{}); got != "" {
		t.Errorf("of no time it says %q", got)
	}
	if got := Count(1, "session") + ", " + Count(0, "process"); got != "1 session, 0 processes" {
		t.Errorf("it counts %q", got)
	}
}
