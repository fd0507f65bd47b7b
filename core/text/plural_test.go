package text

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAgeIsReadToTheSecondAndFromAnHourOnToTheMinute(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: "under a second", 999 * time.Millisecond: "under a second", 1400 * time.Millisecond: "1s",
		59*time.Minute + 59*time.Second: "59m59s", time.Hour + 29*time.Second: "1h", 26*time.Hour + 40*time.Second: "26h1m", 24 * time.Hour: "24h", 5 * time.Minute: "5m",
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			time.Sleep(age)
			if got := Age(began); got != want {
				t.Errorf("%s is %q, want %q", age, got, want)
			}
		})
	}
}
