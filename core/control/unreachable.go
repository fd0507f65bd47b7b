package control

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"gatewaytui/core/ops"
)

// Unreachable is an *ops.Error with CodeUnavailable that says how the socket failed, for callers that decide on it.
type Unreachable struct {
	// Gone is true where no gateway listens: the socket is missing or has no listener. It is false where a gateway may
	// listen but did not answer.
	Gone   bool
	answer ops.Error
	cause  error
}

func (u *Unreachable) Error() string { return u.answer.Error() }

// Unwrap makes an Unreachable an *ops.Error, and its cause, to errors.Is and errors.As.
func (u *Unreachable) Unwrap() []error { return []error{&u.answer, u.cause} }

// unreachable explains why the gateway at c's path gave no answer.
func (c *Client) unreachable(err error) error {
	if refused, ok := errors.AsType[*ops.Error](err); ok { // by the dial
		return refused
	}
	u := &Unreachable{answer: ops.Error{Code: ops.CodeUnavailable}, cause: err}
	say := func(message, hint string) { u.answer.Message, u.answer.Hint = message, hint }
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.Gone = true
		say("no gateway runs here: the control socket "+c.path+" does not exist",
			"start one with gatewaytui, or name its home with --home")
	case errors.Is(err, syscall.ECONNREFUSED):
		u.Gone = true
		say("no gateway runs here: the control socket "+c.path+" is stale: no process listens on it",
			"start one with gatewaytui; it removes the stale socket")
	case errors.Is(err, fs.ErrPermission):
		say("the control socket "+c.path+" may not be opened by this user",
			"ask as the user that runs the gateway")
	case errors.Is(err, context.Canceled):
		say("the question to the gateway was given up",
			"ask again")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.EAGAIN):
		say("the gateway does not answer on "+c.path,
			"a goroutine dump says why: kill -QUIT the pid in gateway.pid, then look in dumps/")
	default:
		say("the gateway hung up on "+c.path+": "+err.Error(),
			"ask again; if it was stopping, it is gone now")
	}
	return u
}
