package api

import (
	"cmp"
	"strings"
	"sync"
	"unicode"
)

// maxPending bounds the text that waits for a slow reader, in bytes.
const maxPending = 1 << 20

// exchange takes the gateway's answer to one request and hands it to the request's handler. It implements
// adapter.Responder: nothing here blocks, and after the client has gone nothing is kept.
type exchange struct {
	stream bool
	// wake has room for one: there is something to take.
	wake chan struct{}

	mu      sync.Mutex
	gone    bool            // nobody takes anything any more
	pending strings.Builder // what was not taken yet
	said    strings.Builder // all deltas, which Done's text is compared with, unless cut
	cut     bool            // said would be longer than maxPending
	outcome outcome
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
}

// usage is what an answer cost, in tokens, as OpenAI writes it.
type usage struct {
	In    int64 `json:"prompt_tokens"`
	Out   int64 `json:"completion_tokens"`
	Total int64 `json:"total_tokens"`
}

func newExchange(stream bool) *exchange {
	return &exchange{stream: stream, outcome: outcome{finish: stopped}, wake: make(chan struct{}, 1)}
}

// Delta implements adapter.Responder.
func (x *exchange) Delta(text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone || x.outcome.ended || !x.stream || text == "" {
		return
	}
	if x.pending.Len()+len(text) > maxPending {
		x.end(tooSlow)
		return
	}
	x.pending.WriteString(text)
	if x.cut = x.cut || x.said.Len()+len(text) > maxPending; !x.cut {
		x.said.WriteString(text)
	}
	x.signal()
}

// Ended implements adapter.EndResponder. Without it the answer has no usage, since a guess would be taken for a fact.
func (x *exchange) Ended(in, out int64, finish string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outcome.finish = cmp.Or(finish, stopped)
	x.outcome.usage = &usage{In: in, Out: out, Total: in + out}
}

// Done implements adapter.Responder.
func (x *exchange) Done(text string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gone || x.outcome.ended {
		return
	}
	if err != nil {
		x.end(unanswered(err))
		return
	}
	if x.stream {
		text = x.unsaid(text)
	}
	x.pending.WriteString(text)
	x.end(nil)
}

// end notes that nothing more will come. x.mu is held.
func (x *exchange) end(trouble *problem) {
	x.outcome.ended, x.outcome.trouble = true, trouble
	x.said.Reset()
	x.signal()
}

func (x *exchange) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// unsaid is what of the whole answer was not in the deltas: all of it for an answer that was not streamed, nothing for
// one that was, also where the deltas held the words before a tool call as well. x.mu is held.
func (x *exchange) unsaid(text string) string {
	// The gateway may have trimmed the answer, so that the blanks around it are not compared.
	said, whole := strings.TrimLeftFunc(x.said.String(), unicode.IsSpace), strings.TrimLeftFunc(text, unicode.IsSpace)
	switch {
	case x.cut, strings.HasSuffix(strings.TrimSpace(said), strings.TrimSpace(whole)):
		// What was cut cannot be compared; that much was streamed.
		return ""
	case said == "":
		return text
	case strings.HasPrefix(whole, said):
		return whole[len(said):]
	default:
		return "\n\n" + text
	}
}

// take returns the text that came since the last take, and how the exchange stands.
func (x *exchange) take() (string, outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	text := x.pending.String()
	x.pending.Reset()
	return text, x.outcome
}

// abandon makes x inert: its client has gone, or was told that the gateway stops.
func (x *exchange) abandon() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
	x.pending.Reset()
	x.said.Reset()
}
