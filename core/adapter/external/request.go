package external

import (
	"context"
	"errors"
	"sync"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// maxOpen is how many requests of callers are open, in addition to one ping.
const maxOpen = 31

// requests are those that the program has not answered.
type requests struct {
	slots chan struct{}

	mu    sync.Mutex
	last  int64
	waits map[int64]chan *result
}

func newRequests() requests {
	return requests{slots: make(chan struct{}, maxOpen), waits: map[int64]chan *result{}}
}

// add is a new request with the channel of its result.
func (r *requests) add() (id int64, answer <-chan *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	c := make(chan *result, 1)
	r.waits[r.last] = c
	return r.last, c
}

// drop forgets a request.
func (r *requests) drop(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waits, id)
}

// settle hands a result to who waits for it. One that no request waits for is left alone.
func (r *requests) settle(result *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.waits[result.ID]; c != nil {
		c <- result // it holds one
		delete(r.waits, result.ID)
	}
}

// errSaid means that a request is on its way whose result is not awaited.
var errSaid = errors.New("its result is not awaited")

// ask makes a request and returns its result. After an error the program may have carried it out, unless the error says otherwise. hurry, if
// not nil, ends the wait for the result with errSaid, and the wait before that with an *adapter.UnsentError.
func (c *conn) ask(ctx context.Context, line command, hurry <-chan struct{}) (*result, error) {
	if err := c.enter(ctx, line.Type, hurry); err != nil {
		return nil, err
	}
	defer func() { <-c.open.slots }()
	id, answer := c.open.add()
	defer c.open.drop(id)
	line.ID = id
	o, err := c.push(ctx, line, hurry)
	if err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r, c.refusal(r.Error)
	case <-c.Done():
		err = c.Err()
	case <-ctx.Done():
		err = c.failed(line.Type, ctx.Err())
	case <-hurry:
		return nil, errSaid
	}
	select {
	case r := <-answer: // it came at the same time
		return r, c.refusal(r.Error)
	default:
	}
	if o.drop() {
		return nil, unsent(err)
	}
	return nil, err
}

// enter waits until a request may be made. The error is an *adapter.UnsentError.
func (c *conn) enter(ctx context.Context, what string, hurry <-chan struct{}) error {
	select {
	case c.open.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.open.slots <- struct{}{}:
		return nil
	case <-c.Done():
		return unsent(c.Err())
	case <-ctx.Done():
		return unsent(c.failed(what, ctx.Err()))
	case <-hurry:
		return unsent(errHeld)
	}
}

// refusal is the error of a request.
func (c *conn) refusal(f *failure) error {
	if f == nil {
		return nil
	}
	why := c.words.Clean(f.Text)
	if why == "" {
		why = "the program gives no reason"
	}
	switch f.Code {
	case codeRefused:
		return &adapter.RefusedError{Why: why}
	case codeRateLimit:
		return &adapter.RateLimitError{RetryAfter: pause(f.RetryMS)}
	case codeUnsent:
		return unsent(errors.New(why))
	}
	return errors.New(why)
}

// failed is the error of a step with the program.
func (c *conn) failed(step string, err error) error {
	return &bot.CallError{Call: step, Why: c.words.Why(err), Cause: err}
}
