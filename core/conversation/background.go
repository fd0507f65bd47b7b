package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// BackgroundTask is the name under which /background is tracked.
const BackgroundTask = "/background"

// limitRetry is when a caller that was refused for a bound may ask again.
const limitRetry = 5 * time.Second

// errAnsweredElsewhere says that the command's message is, or will be, answered by what the command started.
var errAnsweredElsewhere = errors.New("answered elsewhere")

// background works on a text in a new session, which ends with its answer. That answer is the answer to the command.
func (k *Commands) background(ctx context.Context, u use) (string, error) {
	c := k.c
	if u.arg == "" {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "tell me what to do, for example: /background summarise the log"}
	}
	m := u.msg
	m.Text, m.Delta, m.Ended = u.arg, nil, nil
	key := u.key + session.BackgroundInfix + c.o.NewID()
	if err := session.CheckKey(key); err != nil {
		return "", err
	}
	run := func(ctx context.Context) {
		if !u.msg.Instant { // before the answer, which comes after it in the chat's outbox
			c.o.Outbox.Post(u.key, u.msg.Target, "Working on it in the background; I will reply here when it is done.")
		}
		text, err := k.relay(ctx, key, m)
		u.msg.Deliver(text, userError(err))
		c.endOver(context.WithoutCancel(ctx), key, "its task ended")
	}
	most := c.o.Bounds.Background
	if started, running := c.o.Tasks.StartUpTo(ctx, most, BackgroundTask, u.key, run); !started && running >= most {
		c.o.Reached(limit.Background)
		return "", &ops.Error{
			Code: ops.CodeLimit, Message: fmt.Sprintf("%d /background tasks of this conversation are running, and no more may (%s)", running, limit.Background),
			Hint: "send it again when one of them has ended", RetryAfter: limitRetry,
		}
	} else if !started {
		return "", session.ErrStopping
	}
	return "", errAnsweredElsewhere
}

// relay gives m to the session of key as a new message and returns its answer, when the turn has ended.
func (k *Commands) relay(ctx context.Context, key string, m session.Message) (string, error) {
	type result struct {
		text string
		err  error
	}
	answered := make(chan result, 1)
	m.ID, m.Instant = k.c.o.NewID(), true
	m.Deliver = func(text string, err error) {
		select {
		case answered <- result{text, err}:
		default: // it was answered already
		}
	}
	if err := k.c.intake.Submit(ctx, key, m); err != nil {
		return "", err
	}
	select { // no deadline: a turn's stall limits end it
	case r := <-answered:
		return r.text, r.err
	case <-ctx.Done():
		return "", session.ErrStopping
	}
}
