package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"gatewaytui/core/ops"
)

// transcriptLook is how often a followed conversation is looked at: a look reads along an index, and costs some 50 µs.
const transcriptLook = 500 * time.Millisecond

func transcriptPath(session string) string { return "/v1/sessions/" + escape(session) + "/transcript" }

// transcript answers with one page of a conversation, with before one of those before a message (empty: the newest), or with follow, which may be empty or true, with all of it and what comes
// later, as a stream of events. Last-Event-ID, which is what a client that resumes knows, goes before ?after=.
func (s *Server) transcript(w http.ResponseWriter, r *http.Request, target string) {
	q, err := query(r, "after", "before", "limit", "follow")
	follow := q.Has("follow") && q.Get("follow") != "0" && q.Get("follow") != "false"
	var limit int64
	if err == nil {
		limit, err = number(q, "limit")
	}
	ask := ops.MessageQuery{
		After: q.Get("after"), Back: q.Has("before") && !follow, Before: q.Get("before"), Limit: int(min(limit, ops.MaxLimit)),
		By: r.Context().Value(peerKey{}).(*peer).actor(),
	}
	if id := r.Header.Get("Last-Event-ID"); follow && id != "" {
		ask.After = id
	}
	var page ops.Page[ops.Message]
	if err == nil {
		page, err = s.messages(r.Context(), target, ask)
	}
	if err != nil || !follow {
		s.reply(w, page, err)
		return
	}
	out, begun := beginStream(w, r, answerWrite)
	if !begun {
		return
	}
	if err := s.followTranscript(r.Context(), out, target, ask, page); err != nil {
		s.log.Debug("control stream cut", "error", err)
	}
}

// search answers with what was said that matches ?q=.
func (s *Server) search(w http.ResponseWriter, r *http.Request, _ string) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	q, err := query(r, "q", "session", "limit", "cursor")
	var limit int64
	if err == nil {
		limit, err = number(q, "limit")
	}
	var found ops.Found
	if err == nil {
		found, err = s.opt.Console.Search(ctx, ops.SearchQuery{
			Text: q.Get("q"), Session: q.Get("session"), Limit: int(min(limit, ops.MaxLimit)), Cursor: q.Get("cursor"),
			By: r.Context().Value(peerKey{}).(*peer).actor(),
		})
	}
	found.Items = filled(found.Items)
	s.reply(w, found, err)
}

// output answers with a part of what a process has written.
func (s *Server) output(w http.ResponseWriter, r *http.Request, target string) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	q, err := query(r, "after", "limit")
	ask := ops.OutputQuery{By: r.Context().Value(peerKey{}).(*peer).actor()}
	if err == nil {
		ask.PID, err = ops.ParsePID(target)
	}
	if text := q.Get("after"); err == nil && text != "" {
		if ask.After, err = strconv.ParseInt(text, 10, 64); err != nil {
			err = &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("after is %.64q", text), Hint: "give an offset in bytes; below 0 it counts from the end"}
		}
	}
	var limit int64
	if err == nil {
		limit, err = number(q, "limit")
	}
	var out ops.Output
	if err == nil {
		ask.Limit = int(min(limit, ops.MaxPageBytes))
		out, err = s.opt.Console.Output(ctx, ask)
	}
	s.reply(w, out, err)
}

// messages asks the console for one page.
func (s *Server) messages(ctx context.Context, target string, q ops.MessageQuery) (ops.Page[ops.Message], error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	page, err := s.opt.Console.Transcript(ctx, target, q)
	page.Items = filled(page.Items)
	return page, err
}

// followTranscript writes page and what follows it to out, page by page, until the client leaves or the server closes. A
// session that ends is followed by the next conversation of its key.
func (s *Server) followTranscript(ctx context.Context, out *stream, target string, q ops.MessageQuery, page ops.Page[ops.Message]) (err error) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	look := time.NewTicker(transcriptLook)
	defer look.Stop()
	for {
		for _, m := range page.Items {
			data, err := json.Marshal(m)
			if err != nil {
				return fmt.Errorf("encode message %s: %w", m.ID, err)
			}
			fmt.Fprintf(&out.pending, "id: %s\nevent: message\ndata: %s\n\n", m.ID, data)
			if q.After = m.ID; out.pending.Len() >= together {
				if err := out.flush(); err != nil {
					return err
				}
			}
		}
		if err := out.flush(); err != nil {
			return err
		}
		if page.Next == "" {
			select {
			case <-look.C:
			case <-beat.C:
				out.pending.WriteString(": alive\n\n")
			case <-s.closing.Done():
				return nil
			case <-ctx.Done():
				return nil
			}
		}
		page, err = s.messages(ctx, target, q)
		if ops.HasCode(err, ops.CodeNotFound) { // between two conversations of a key
			page, err = ops.Page[ops.Message]{}, nil
		}
		if err != nil {
			return err
		}
	}
}

// FollowTranscript yields the messages of a conversation behind the one with the ID after (empty: from the first), then new ones as
// they come, until ctx ends. A stream that is cut while the gateway lives is resumed where it ended. When the gateway is gone, the
// sequence ends with an error.
func (c *Client) FollowTranscript(ctx context.Context, session, after string) iter.Seq2[ops.Message, error] {
	return func(yield func(ops.Message, error) bool) {
		failed, pause, begun := 0, retryPause, false
		for {
			before := after
			more, open, err := c.readTranscript(ctx, session, &after, yield)
			begun = begun || open
			if !more || ctx.Err() != nil {
				return
			}
			if after != before {
				failed, pause = 0, retryPause
			}
			if failed++; err == nil && failed > retries {
				err = c.unreachable(errors.New("it ends every stream at once"))
			}
			if err != nil && (!begun || !resumable(err) || failed > retries) {
				yield(ops.Message{}, err)
				return
			}
			select {
			case <-time.After(pause):
				pause *= 2
			case <-ctx.Done():
				return
			}
		}
	}
}

// readTranscript reads one stream to its end, and moves after. It reports false for more when the reader wants no more, and open
// when the gateway has begun the stream; the error is nil for a stream that ended in order.
func (c *Client) readTranscript(ctx context.Context, session string, after *string, yield func(ops.Message, error) bool) (more, open bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dead := time.AfterFunc(c.opt.Timeout, func() { cancel(os.ErrDeadlineExceeded) })
	defer dead.Stop()
	resp, err := c.send(ctx, http.MethodGet, transcriptPath(session)+"?follow=1&after="+url.QueryEscape(*after), nil, http.Header{"Accept": {"text/event-stream"}})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return true, false, c.unreachable(cause)
	}
	if err != nil {
		return true, false, err
	}
	defer resp.Body.Close()
	lines := linesOf(resp.Body, maxAnswer)
	for {
		data, err := readData(lines, maxAnswer, func() { dead.Reset(silence) })
		switch cause := context.Cause(ctx); {
		case err != nil && cause != nil:
			return true, true, c.unreachable(cause)
		case errors.Is(err, io.EOF):
			return true, true, nil
		case err != nil:
			return true, true, c.unreachable(fmt.Errorf("read messages: %w", err))
		}
		var m ops.Message
		if err := json.Unmarshal(data, &m); err != nil {
			return true, true, c.unreachable(fmt.Errorf("read a message: %w", err))
		}
		*after = m.ID
		if !yield(m, nil) {
			return false, true, nil
		}
	}
}
