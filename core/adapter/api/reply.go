package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
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

// form is how an answer is written: as a chat completion (chat_form.go) or as a response (response_form.go).
type form interface {
	// whole is the answer in one piece.
	whole(text string, o outcome) []byte
	// begin is what a stream begins with, silence a sign of life in it, piece a piece of the answer's text.
	begin() []byte
	silence() []byte
	piece(text string) []byte
	// end is the end of a stream that said text, and failed the end of one that broke off.
	end(text string, o outcome) []byte
	failed(p *problem) []byte
}

// reply writes one answer to one client.
type reply struct {
	conn   *conn
	reader *reader
	w      http.ResponseWriter
	rc     *http.ResponseController
	form   form
	// begun says that the header of a stream is out.
	begun bool
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
		body := append(r.form.whole(text, o), '\n')
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
func (r *reply) stream(client context.Context) {
	left := true // a write that fails is a client that has gone, too
	defer func() { r.reader.detach(left && r.conn.tasks.Err() == nil) }()
	defer r.hurry()()
	silence := time.NewTimer(headerPatience)
	defer silence.Stop()
	var said strings.Builder
	var events []byte
	for {
		stopped := false
		select {
		case <-r.reader.wake:
		case <-silence.C:
			if r.write(r.form.silence()) != nil {
				return
			}
		case <-client.Done():
			return
		case <-r.conn.tasks.Done():
			stopped = true
		}
		events = append(events, r.reader.takeEvents()...)
		text, o := r.reader.take()
		if !r.begun && text == "" && !o.ended && !stopped { // the header waits for a word, and for as long as it did
			continue
		}
		silence.Reset(keepAlive)
		said.WriteString(text)
		if r.pass(events, text, o) != nil {
			return
		}
		events = nil
		switch {
		case o.ended && o.trouble == nil:
			left = false
			_ = r.write(r.form.end(said.String(), o)) // a client that has gone needs no end
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

// pass writes what came: the gateway's own events, unless the answer fails before its first word, and a piece of the answer.
func (r *reply) pass(events []byte, text string, o outcome) error {
	if !r.begun && text == "" && (!o.ended || o.trouble != nil) {
		return nil
	}
	if text != "" {
		events = append(events, r.form.piece(text)...)
	}
	if len(events) == 0 {
		return nil
	}
	return r.write(events)
}

// breakOff ends a stream with p: as its status while there is still one to give, as an event otherwise.
func (r *reply) breakOff(p *problem) {
	if !r.begun {
		r.deadline()
		p.write(r.w)
		_ = r.rc.Flush()
		return
	}
	_ = r.write(r.form.failed(p))
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
		text = append(r.form.begin(), text...)
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
