package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"gatewaytui/core/model"
)

const (
	// headerPatience is how long a stream's header waits for the first word: an error before it can still set the status.
	headerPatience = time.Second
	// keepAlive is the time between signs of life on a silent stream, well below what proxies allow.
	keepAlive = 15 * time.Second
	// writeTimeout bounds one write to a client that does not read, and stopWriteTimeout the last one while stopping.
	writeTimeout     = 30 * time.Second
	stopWriteTimeout = time.Second
)

// reply writes one answer to one client.
type reply struct {
	conn    *conn
	reader  *reader
	w       http.ResponseWriter
	rc      *http.ResponseController
	id      string
	agent   string // as the client sees it
	created int64
	// begun says that the header of a stream is out.
	begun bool
}

type message struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	// ToolCalls are what the client must run.
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

// wireCall is a call of a client's function. Index is its place, in a stream alone.
type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// wireCalls are calls as clients read them; with their places for a stream.
func wireCalls(calls []model.ToolCall, placed bool) []wireCall {
	out := make([]wireCall, len(calls))
	for i, c := range calls {
		out[i] = wireCall{ID: c.ID, Type: "function", Function: wireFunction{c.Name, c.Arguments}}
		if placed {
			out[i].Index = &i
		}
	}
	return out
}

type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	// FinishReason is null in a stream until its end.
	FinishReason *string `json:"finish_reason"`
}

// completion is an answer, or a piece of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

// stopped is the finish reason of an answer that is whole.
const stopped = "stop"

func (r *reply) completion(object string, u *usage, choices ...choice) []byte {
	if choices == nil {
		choices = []choice{} // clients iterate over it
	}
	// Strings and numbers always encode.
	out, _ := json.Marshal(completion{
		ID: r.id, Object: object, Created: r.created, Model: r.agent, Choices: choices, Usage: u,
	})
	return out
}

// whole waits for the answer and writes it in one piece.
func (r *reply) whole(client context.Context) {
	var text string
	var o outcome
	for waiting := true; waiting && !o.ended; {
		select {
		case <-r.reader.wake:
		case <-client.Done():
			waiting = false
		case <-r.conn.tasks.Done():
			waiting = false
		}
		more, now := r.reader.take()
		text, o = text+more, now
	}
	r.reader.detach(client.Err() != nil && r.conn.tasks.Err() == nil)
	defer r.hurry()()
	r.deadline()
	switch {
	case o.ended && o.trouble == nil:
		said := choice{Message: &message{Role: "assistant", Content: &text, ToolCalls: wireCalls(o.calls, false)}, FinishReason: &o.finish}
		body := append(r.completion("chat.completion", o.usage, said), '\n')
		r.w.Header().Set("Content-Type", "application/json")
		r.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = r.w.Write(body) // a client that has gone needs no answer
	case o.ended:
		o.trouble.write(r.w)
	case client.Err() == nil:
		cutOff().write(r.w)
	}
	_ = r.rc.Flush()
}

// stream writes the answer as it comes, in Server-Sent Events.
func (r *reply) stream(client context.Context, withUsage bool) {
	left := true // a write that fails is a client that has gone, too
	defer func() { r.reader.detach(left && r.conn.tasks.Err() == nil) }()
	defer r.hurry()()
	silence := time.NewTimer(headerPatience)
	defer silence.Stop()
	for {
		stopped := false
		select {
		case <-r.reader.wake:
		case <-silence.C:
			// A piece without words: go-openai takes a comment for a part of an error that comes later.
			if r.piece(choice{Delta: &message{}}) != nil {
				return
			}
		case <-client.Done():
			return
		case <-r.conn.tasks.Done():
			stopped = true
		}
		silence.Reset(keepAlive)
		text, o := r.reader.take()
		if text != "" && r.piece(choice{Delta: &message{Content: &text}}) != nil {
			return
		}
		switch {
		case o.ended && o.trouble == nil:
			left = false
			if !withUsage {
				o.usage = nil
			}
			r.finish(o)
			return
		case o.ended:
			left = false
			r.breakOff(o.trouble)
			return
		case stopped:
			r.breakOff(cutOff())
			return
		}
	}
}

const chunk = "chat.completion.chunk"

// piece writes one chunk, after the one that says who speaks.
func (r *reply) piece(c choice) error {
	var out []byte
	if !r.begun {
		empty := ""
		out = event(r.completion(chunk, nil, choice{Delta: &message{Role: "assistant", Content: &empty}}))
	}
	return r.write(append(out, event(r.completion(chunk, nil, c))...))
}

// finish ends a stream that is whole.
func (r *reply) finish(o outcome) {
	if len(o.calls) > 0 && r.piece(choice{Delta: &message{ToolCalls: wireCalls(o.calls, true)}}) != nil {
		return
	}
	if r.piece(choice{Delta: &message{}, FinishReason: &o.finish}) != nil {
		return
	}
	var out []byte
	if o.usage != nil {
		out = event(r.completion(chunk, o.usage))
	}
	_ = r.write(append(out, event([]byte("[DONE]"))...)) // a client that has gone needs no end
}

func event(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}

// breakOff ends a stream with p: as its status while there is still one to give, as an event otherwise.
func (r *reply) breakOff(p *problem) {
	if !r.begun {
		r.deadline()
		p.write(r.w)
		_ = r.rc.Flush()
		return
	}
	_ = r.write(event(p.body()))
}

// write sends text at once.
func (r *reply) write(text []byte) error {
	if !r.begun {
		h := r.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		// nginx would keep the pieces until the answer is whole.
		h.Set("X-Accel-Buffering", "no")
		r.begun = true
	}
	r.deadline()
	if _, err := r.w.Write(text); err != nil {
		return err
	}
	return r.rc.Flush()
}

// deadline bounds the next write. The check comes last, so that a stop that begins meanwhile is seen here or by hurry.
func (r *reply) deadline() {
	_ = r.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	if r.conn.tasks.Err() != nil {
		_ = r.rc.SetWriteDeadline(time.Now().Add(stopWriteTimeout))
	}
}

// hurry bounds the write that is under way when the requests must end, until it is undone.
func (r *reply) hurry() (undo func() bool) {
	return context.AfterFunc(r.conn.tasks, func() { _ = r.rc.SetWriteDeadline(time.Now().Add(stopWriteTimeout)) })
}
