package adapter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Why the Supervisor refuses. They come wrapped with the adapter's name; compare with errors.Is.
var (
	ErrUnknown = &ops.Error{
		Code: ops.CodeNotFound, Message: "no such adapter",
		Hint: "gatewaytui adapters lists them",
	}
	ErrNotConnected = &ops.Error{
		Code: ops.CodeUnavailable, Message: "the adapter is not connected",
		Hint: "gatewaytui adapters tells why and when it tries again",
	}
	ErrStopped = &ops.Error{
		Code: ops.CodeStopping, Message: "the adapter is stopped for good",
		Hint: "it comes back with the next life of the gateway",
	}
	// ErrUnable is the answer where a platform lacks the ability that a call needs.
	ErrUnable = &ops.Error{
		Code: ops.CodeInvalid, Message: "the platform cannot do that",
		Hint: "gatewaytui adapters -o wide lists what it can do",
	}
	// ErrUnconfigured is the answer of an adapter added with AddBroken.
	ErrUnconfigured = &ops.Error{
		Code: ops.CodeConflict, Message: "the adapter has no credential",
		Hint: "set it where the gateway is started, then restart the gateway",
	}
)

// maxError is the length of last_error in runes.
const maxError = 300

// RefusedError says that a platform will not take this message, now or later: the chat is gone, the bot was blocked, the
// text is not acceptable. Sending it again is pointless.
type RefusedError struct {
	Why string
}

func (e *RefusedError) Error() string { return "refused by the platform: " + e.Why }

// UnsentError says that a message certainly did not arrive, and that another try may succeed.
type UnsentError struct {
	Err error
}

func (e *UnsentError) Error() string { return e.Err.Error() }
func (e *UnsentError) Unwrap() error { return e.Err }

// MayHaveArrived reports whether a message may have reached its chat although sending it failed with err.
func MayHaveArrived(err error) bool {
	if err == nil {
		return true
	}
	_, refused := errors.AsType[*RefusedError](err)
	_, limited := errors.AsType[*RateLimitError](err)
	_, unsent := errors.AsType[*UnsentError](err)
	known := refused || limited || unsent
	for _, not := range []error{ErrUnknown, ErrNotConnected, ErrStopped, ErrUnable} {
		known = known || errors.Is(err, not)
	}
	return !known
}

// staleError says that a connection is open and nothing arrives through it (E1).
type staleError struct {
	after time.Duration
}

func (e *staleError) Error() string {
	return fmt.Sprintf("no poll or frame completed within %s", e.after)
}

// clean is err for people: one line, bounded, without what looks like a secret.
func clean(err error) string {
	return term.Clean(term.Redact(err.Error()), maxError)
}

// together is several errors as one, on one line; nil if there is none. An error whose text an earlier one has says nothing
// new, such as the end of the same context, and is left out.
func together(errs ...error) (all error) {
	for _, err := range errs {
		switch {
		case err == nil:
		case all == nil:
			all = err
		case !strings.Contains(all.Error(), err.Error()):
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}
