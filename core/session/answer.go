package session

import (
	"errors"

	"gatewaytui/core/ops"
)

// answers are the replies to the sender of a message when one of the causes ended its turn. The first that matches
// counts.
var answers = []struct {
	cause  error
	answer ops.Error
}{
	{ErrStopping, ops.Error{Code: ops.CodeStopping, Message: "the turn was interrupted because the gateway is stopping", Hint: "ask again when it is back"}},
	{ErrLeft, ops.Error{Code: ops.CodeConflict, Message: "the turn was interrupted because its client had left"}},
	{ErrReset, ops.Error{Code: ops.CodeConflict, Message: "the turn was ended by a reset of its session", Hint: "the next message begins a fresh conversation"}},
	{ErrStalled, ops.Error{Code: ops.CodeUnavailable, Message: "the turn made no progress for too long and was ended", Hint: "ask again, or /new for a fresh conversation"}},
	{ErrInterrupted, ops.Error{Code: ops.CodeConflict, Message: "the turn was interrupted", Hint: "the conversation continues with your next message"}},
}

// Answer is the reply to the sender of a message when err is one of the causes with which a turn is ended from outside;
// nil for any other err.
func Answer(err error) *ops.Error {
	for _, a := range answers {
		if errors.Is(err, a.cause) {
			told := a.answer
			return &told
		}
	}
	return nil
}
