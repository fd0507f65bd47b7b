package adapter

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"gatewaytui/core/text"
)

// Examiner is a Platform that can look whether its settings will do, for doctor. It makes no connection that receives messages, so that
// it takes none from a gateway that runs.
type Examiner interface {
	// Examine asks the platform about the credential, the permissions and the clock, within ctx. The error says why it could not be
	// asked; it may be one of this package's types. Findings come in the order in which they were made.
	Examine(ctx context.Context) ([]Finding, error)
}

// Finding is one thing that an Examiner looked at, for people. Its texts are clean and hold no credential.
type Finding struct {
	// Text says what was found, Fix what to do about it; an empty Fix: all is well.
	Text, Fix string
}

// maxSkew is how far a clock may be off: platforms that sign requests by time refuse those that are minutes off.
const maxSkew = time.Minute

// ClockFinding compares the clock of this machine with the Date of an answer that came just now (RFC 9110, 6.6.1); false: the answer
// has none.
func ClockFinding(now time.Time, header http.Header) (Finding, bool) {
	at, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return Finding{}, false
	}
	switch off := now.Sub(at); {
	case off > maxSkew:
		return Finding{fmt.Sprintf("this machine's clock is %s ahead of the platform's", text.Duration(off)), "set the clock, e.g. with timedatectl set-ntp true"}, true
	case off < -maxSkew:
		return Finding{fmt.Sprintf("this machine's clock is %s behind the platform's", text.Duration(-off)), "set the clock, e.g. with timedatectl set-ntp true"}, true
	}
	return Finding{Text: "the clock agrees with the platform's"}, true
}
