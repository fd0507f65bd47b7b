package api

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"gatewaytui/core/model"
)

// maxPending bounds the text that waits for a slow reader, in bytes. An exchange keeps at most twice as much of a stream.
const maxPending = 1 << 20

// exchange takes the gateway's answer to one message and hands it to the clients that wait for it: the one that sent the
// message, and those that joined later (answers.go). It implements adapter.Responder; nothing here blocks.
type exchange struct {
	stream  bool
	created time.Time
	// print says what the request was: see request.print. session is the key of its session.
	print   print
	session string
	key     string // its Idempotency-Key with its caller; empty: none. It is guarded by answers.mu
	// ended is called once when the answer is complete, withdraw when no request waits for it any more and its turn must end.
	ended, withdraw func(*exchange)
	// grace is how long a plain request that was left keeps its turn; less than 0 is for ever.
	grace time.Duration

	// decided is closed when the gateway has taken or refused the message; id and refusal are known from then on.
	decided chan struct{}
	id      string
	refusal *problem

	mu      sync.Mutex
	text    []byte    // of the answer, from dropped on
	dropped int       // bytes of a long stream that are gone
	readers []*reader // nil again when the last one has gone: a kept answer has none
	// left says that the last client went before it had the answer; withdrawn that the turn was ended for that.
	left, withdrawn bool
	timer           *time.Timer // runs out when grace does
	outcome         outcome
	// events are the gateway's own, where a reader asked for them: the newest. eventsGone is how many older ones are gone, doing the step
	// that the last one told.
	watched    bool
	events     []happening
	eventsGone int
	doing      string
}

// reader is one client that waits for the answer.
type reader struct {
	x *exchange
	// wake has room for one: there is something to take.
	wake chan struct{}
	at   int // how much of the text it took
	// behind says that more than maxPending waited for it: it gets that error instead of the rest.
	behind bool
	// events says that it wants the gateway's own events; seen is how many it had.
	events bool
	seen   int
}

// outcome is how an exchange stands.
type outcome struct {
	ended bool
	// trouble is why there is no (whole) answer.
	trouble *problem
	// usage is nil while it is unknown.
	usage *usage
	// finish is why the model ended the answer.
	finish string
	// calls are what the client must run.
	calls []model.ToolCall
}

// usage is what an answer cost, in tokens, as OpenAI writes it.
type usage struct {
	In    int64 `json:"prompt_tokens"`
	Out   int64 `json:"completion_tokens"`
	Total int64 `json:"total_tokens"`
}

// stopped is the finish reason of an answer that is whole.
const stopped = "stop"

func newExchange(stream bool) *exchange {
	nothing := func(*exchange) {}
	return &exchange{
		stream: stream, created: time.Now(), ended: nothing, withdraw: nothing, decided: make(chan struct{}),
		outcome: outcome{finish: stopped},
	}
}

// decide notes what became of the message: its id, or why it was refused. It is called once.
func (x *exchange) decide(id string, refusal *problem) {
	x.id, x.refusal = id, refusal
	close(x.decided)
}

// attach adds a client, which gets the answer from its begin. It returns nil where that is not possible any more: the turn
// is being ended because everyone had left, or the begin of a very long stream is gone.
func (x *exchange) attach() *reader {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.withdrawn || x.dropped > 0 {
		return nil
	}
	x.left = false
	x.stopTimer()
	r := &reader{x: x, wake: make(chan struct{}, 1)}
	if len(x.text) > 0 || x.outcome.ended {
		r.signal()
	}
	x.readers = append(x.readers, r)
	return r
}

// detach removes a client; left says that it went before it had the answer. When the last one has gone so, a streamed turn is
// withdrawn at once, and a plain one when its grace is over.
func (r *reader) detach(left bool) {
	x := r.x
	x.mu.Lock()
	if x.readers = slices.DeleteFunc(x.readers, func(other *reader) bool { return other == r }); len(x.readers) == 0 {
		x.readers, x.events = nil, nil // a kept answer has no events
	}
	withdraw := false
	if left && len(x.readers) == 0 {
		x.left = true
		switch {
		case x.outcome.ended || x.withdrawn:
		case x.stream || x.grace == 0:
			withdraw, x.withdrawn = true, true
		case x.grace > 0:
			x.timer = time.AfterFunc(x.grace, x.expire)
		}
	}
	x.mu.Unlock()
	if withdraw {
		x.withdraw(x)
	}
}

// expire ends the grace.
func (x *exchange) expire() {
	x.mu.Lock()
	over := !x.outcome.ended && !x.withdrawn && len(x.readers) == 0 && x.timer != nil
	x.withdrawn = x.withdrawn || over
	x.mu.Unlock()
	if over {
		x.withdraw(x)
	}
}

// stopTimer ends the grace of a client that came back. x.mu is held.
func (x *exchange) stopTimer() {
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}

// forget ends the grace for good: the connection that it belongs to ends.
func (x *exchange) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stopTimer()
}

// standing is how x stands towards clients that may join it.
func (x *exchange) standing() (left, ended bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.left && !x.withdrawn, x.outcome.ended
}

// exchangeBytes is about what an exchange without a text costs, its places in the indexes included.
const exchangeBytes = 1 << 10

// size is the bytes that x holds. A streamed text has grown in its place and holds more than its length.
func (x *exchange) size() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cap(x.text) + exchangeBytes
}

// Delta implements adapter.Responder.
func (x *exchange) Delta(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.outcome.ended || !x.stream || text == "" {
		return
	}
	x.text = append(x.text, text...)
	for _, r := range x.readers {
		r.behind = r.behind || x.dropped+len(x.text)-r.at > maxPending
	}
	if len(x.text) > 2*maxPending {
		cut := len(x.text) - maxPending
		x.dropped += cut
		x.text = bytes.Clone(x.text[cut:])
	}
	x.signal()
}

// Ended implements adapter.Responder. Without it the answer has no usage, since a guess would be taken for a fact.
func (x *exchange) Ended(o model.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outcome.finish = cmp.Or(string(o.Finish), stopped)
	x.outcome.usage = &usage{In: o.Usage.In, Out: o.Usage.Out, Total: o.Usage.In + o.Usage.Out}
	x.outcome.calls = o.Calls
}

// Done implements adapter.Responder.
func (x *exchange) Done(text string, err error) {
	if !x.end(text, err) {
		return
	}
	x.ended(x)
}

// end notes the answer and that nothing more will come. It reports whether that is news.
func (x *exchange) end(text string, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.outcome.ended {
		return false
	}
	x.stopTimer()
	if err != nil {
		x.outcome.trouble = unanswered(err)
	} else {
		if x.stream {
			text = x.unsaid(text)
		}
		x.text = append(x.text, text...)
	}
	x.outcome.ended = true
	x.signal()
	return true
}

// signal wakes every reader. x.mu is held.
func (x *exchange) signal() {
	for _, r := range x.readers {
		r.signal()
	}
}

func (r *reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// unsaid is what of the whole answer was not in the deltas: all of it for an answer that was not streamed, nothing for
// one that was, also where the deltas held the words before a tool call as well. x.mu is held.
func (x *exchange) unsaid(text string) string {
	// The gateway may have trimmed the answer, so that the blanks around it are not compared.
	said, whole := strings.TrimLeftFunc(string(x.text), unicode.IsSpace), strings.TrimLeftFunc(text, unicode.IsSpace)
	switch {
	case x.dropped > 0, strings.HasSuffix(strings.TrimSpace(said), strings.TrimSpace(whole)):
		// What was dropped cannot be compared; that much was streamed.
		return ""
	case said == "":
		return text
	case strings.HasPrefix(whole, said):
		return whole[len(said):]
	default:
		return "\n\n" + text
	}
}

// take returns the text that came since the last take, and how the exchange stands. A reader that is too far behind gets
// tooSlow.
func (r *reader) take() (string, outcome) {
	x := r.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.behind {
		return "", outcome{ended: true, trouble: tooSlow}
	}
	text := string(x.text[r.at-x.dropped:])
	r.at = x.dropped + len(x.text)
	return text, x.outcome
}
