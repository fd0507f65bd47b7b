package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
)

// events streams what happens as Server-Sent Events (html.spec.whatwg.org, 9.2). Last-Event-ID, which is what a client
// that resumes knows, goes before ?after=, which is where it once began. ?kinds= is a list of event types separated by commas; without it all
// come.
func (s *Server) events(w http.ResponseWriter, r *http.Request, _ string) {
	q, err := query(r, "after", "kinds")
	if err == nil {
		if id := r.Header.Get("Last-Event-ID"); id != "" {
			q.Set("after", id)
		}
	}
	var after uint64
	if err == nil && q.Has("after") {
		if after, err = strconv.ParseUint(q.Get("after"), 10, 64); err != nil {
			err = &ops.Error{
				Code: ops.CodeInvalid, Message: fmt.Sprintf("invalid sequence number %.64q", q.Get("after")),
				Hint: "give the id of the last event that was seen, or none",
			}
		}
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	var kinds []ops.EventType
	for kind := range strings.SplitSeq(q.Get("kinds"), ",") {
		if kind != "" {
			kinds = append(kinds, ops.EventType(kind))
		}
	}
	out, begun := beginStream(w, r, streamWrite)
	if !begun {
		return
	}
	if err := s.stream(r.Context(), out, after, kinds); err != nil {
		s.log.Debug("control stream cut", "error", err)
	}
}

// beginStream writes the head of a stream, each write of which may take as long as bound. It reports false where there is nothing
// more to write.
func beginStream(w http.ResponseWriter, r *http.Request, bound time.Duration) (*stream, bool) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out := &stream{w: w, rc: http.NewResponseController(w), bound: bound}
	out.pending.WriteString("retry: 1000\n\n")
	if out.flush() != nil || r.Method == http.MethodHead {
		return nil, false
	}
	out.flushed = time.Time{} // the first event does not wait
	return out, true
}

// stream copies the console's events to out until one of them ends. They are read on a goroutine, so that a heartbeat can be
// sent while there are none. An event after a pause is written at once, those that follow it within gather together.
func (s *Server) stream(ctx context.Context, out *stream, after uint64, kinds []ops.EventType) error {
	feed := follow.Start(ctx, s.opt.Console, after, kinds...)
	defer feed.Close()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	closing := s.closing.Done()
	var pause <-chan time.Time // set while the server closes: a pause this long means that nothing is pending
	for {
		var err error
		select {
		case n, more := <-feed.News:
			switch {
			case !more:
				return out.flush()
			case n.Err != nil:
				return errors.Join(n.Err, out.flush())
			}
			err = out.take(n.Event, pause != nil)
			if pause != nil {
				pause = time.After(quiet)
			}
		case <-out.due:
			err = out.flush()
		case <-beat.C:
			out.pending.WriteString(": alive\n\n")
			err = out.flush()
		case <-closing:
			closing, pause = nil, time.After(quiet)
			err = out.flush()
		case <-pause:
			return nil
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stream is one reader of events.
type stream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	bound time.Duration // of one write
	// pending is what was not written yet; flushed is when something was.
	pending bytes.Buffer
	flushed time.Time
	// due comes when what is pending is to be written; nil while nothing waits to be written together.
	due <-chan time.Time
}

// take adds an event, and writes what is pending at once if hurry says so, if the last write is long ago, or if it is much.
func (o *stream) take(ev ops.Event, hurry bool) error {
	if err := o.event(ev); err != nil {
		return err
	}
	switch wait := time.Until(o.flushed.Add(gather)); {
	case hurry, wait <= 0, o.pending.Len() >= together:
		return o.flush()
	case o.due == nil:
		o.due = time.After(wait)
	}
	return nil
}

// event adds an event to what is pending.
func (o *stream) event(ev ops.Event) error {
	data, err := json.Marshal(ev)
	if err != nil {
		return fmt.Errorf("encode event %d: %w", ev.Seq, err)
	}
	// An event without a number must not move the client's place.
	if ev.Seq > 0 {
		fmt.Fprintf(&o.pending, "id: %d\n", ev.Seq)
	}
	fmt.Fprintf(&o.pending, "event: %s\ndata: %s\n\n", ev.Type, data)
	return nil
}

// flush writes what is pending at once or fails: a reader that lags is cut, never waited for, and resumes from its last
// id.
func (o *stream) flush() error {
	o.due = nil
	if o.pending.Len() == 0 {
		return nil
	}
	now := time.Now()
	if err := o.rc.SetWriteDeadline(now.Add(o.bound)); err != nil {
		return err
	}
	o.flushed = now
	_, err := o.w.Write(o.pending.Bytes())
	o.pending.Reset()
	if err != nil {
		return err
	}
	return o.rc.Flush()
}
