package process

import (
	"os"
	"time"
)

// Began is when this program was started, to 10 ms. On a busy machine that is well before it runs. It returns the current
// time where /proc does not show the start.
func Began() time.Time {
	p, err := statOf(os.Getpid())
	if err != nil {
		return time.Now()
	}
	return startedAt(p.Start)
}

// Resident is the resident memory of this program (RSS), in bytes; 0 where /proc does not show it.
func Resident() int64 {
	p, err := statOf(os.Getpid())
	if err != nil {
		return 0
	}
	return p.RSS * int64(os.Getpagesize())
}
