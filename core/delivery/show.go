package delivery

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// typingAfter is when a chat sees that the bot works. What is answered sooner needs no sign.
	typingAfter = 300 * time.Millisecond
	// usualTyping is how long a platform shows it, where that is not known.
	usualTyping = 5 * time.Second
	// maxTypingRetry bounds the wait after typing that failed.
	maxTypingRetry = 30 * time.Second
	// settleWait is how long an answer waits for a draft that is on its way: one that came after it would replace it.
	settleWait = time.Second
	// typingWait is the same for a sign that the bot types.
	typingWait = 250 * time.Millisecond
	// draftRetry is the wait after a draft that certainly did not arrive.
	draftRetry = 5 * time.Second
)

// Show is what a chat sees of one running turn: that the bot types, the progress, and the answer as it is written. Its
// methods never wait for a platform, but for End and settle, which are bounded. The nil Show shows nothing.
type Show struct {
	o      *Outbox
	in     store.Inbox // the message that the turn works on
	chat   string
	bounds adapter.Bounds
	typing bool
	stream bool
	// drafts means that a draft shows the picture, and draft below stays without a message.
	drafts bool

	// ctx ends the calls under way, typingCtx those of them that show typing; over is closed when none begins any more; drawn,
	// typed are closed when the goroutines have returned. wake says that the picture changed.
	ctx          context.Context
	cancel       context.CancelFunc
	typingCtx    context.Context
	cancelTyping context.CancelFunc
	over         chan struct{}
	drawn, typed chan struct{}
	wake         chan struct{}
	end          func()

	// types and draws say that the chat has the sign that the bot types, and a message.
	types, draws atomic.Bool

	mu      sync.Mutex // guards what follows; never held over I/O
	picture picture
	// draft is the message in the chat. calling means that a call about it is under way, spoilt that the outcome of one is not
	// known: such a message may still change, and does not become the answer.
	draft           store.Draft
	calling, spoilt bool
	taken           bool // the answer has the place of the draft
	// settled means that nothing has changed since before the answer was written into the journal.
	settled bool
}

// Show begins to show a turn that works on the message in to its chat. It shows nothing, and returns nil, where the platform can
// show nothing. ctx is the turn's: its end ends the Show, and End must be called. Message ids are those of the inbox.
func (o *Outbox) Show(ctx context.Context, in store.Inbox) *Show {
	if in.Target == "" || o.sender == nil {
		return nil
	}
	manner := o.o.Manner(in.Session)
	types := o.sender.Can(in.Adapter, adapter.AbilityTyping)
	bounds := o.sender.Bounds(in.Adapter, in.Target)
	drafts := manner.Draft && bounds.Drafts > 0 && o.sender.Can(in.Adapter, adapter.AbilityDrafts)
	manner.Stream = manner.Stream || drafts
	draws := drafts || o.sender.Can(in.Adapter, adapter.AbilityEdit) && (manner.Stream || manner.Progress != ProgressOff)
	if !types && !draws {
		return nil
	}
	now := time.Now()
	s := &Show{
		o: o, in: in, chat: in.Adapter + " " + adapter.ChatOf(in.Target), bounds: bounds, typing: types, stream: manner.Stream, drafts: drafts,
		over: make(chan struct{}), drawn: make(chan struct{}), typed: make(chan struct{}), wake: make(chan struct{}, 1),
		draft: store.Draft{ID: in.ID, Session: in.Session, Adapter: in.Adapter, Target: in.Target, At: now},
	}
	s.picture = picture{manner: manner, most: cmp.Or(s.bounds.Message, usualMost), gap: leastGap, began: now, since: now, over: !draws}
	if s.bounds.Edits > 0 {
		s.picture.gap = max(leastGap, time.Minute/time.Duration(s.bounds.Edits))
	}
	if drafts {
		s.picture.renew = bounds.Drafts * 4 / 5
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.typingCtx, s.cancelTyping = context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, s.stop)
	s.end = func() { stop() }
	o.shown(s, now)
	go s.keepTyping()
	go s.draw()
	return s
}

// Shows implements session.Shown.
func (s *Show) Shows() string {
	switch {
	case s == nil || s.closed():
		return ""
	case s.draws.Load() && s.stream:
		return "draft"
	case s.draws.Load():
		return "progress"
	case s.types.Load():
		return "typing"
	}
	return ""
}

// Doing notes what the turn does.
func (s *Show) Doing(doing string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.picture.step(time.Now(), doing)
	s.mu.Unlock()
	s.nudge()
}

// Delta takes a piece of the answer as it is written.
func (s *Show) Delta(text string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.picture.wrote(time.Now(), text)
	s.mu.Unlock()
	s.nudge()
}

func (s *Show) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// End ends the Show, and has a message removed that did not become the answer.
func (s *Show) End() {
	if s == nil {
		return
	}
	s.settle()
	s.end()
	s.cancel()
	<-s.typed
	<-s.drawn
	s.o.hidden(s)
	s.mu.Lock()
	draft, left := s.draft, !s.taken && s.draft.Message != ""
	s.mu.Unlock()
	if left {
		s.o.Retract(draft)
	}
}

// stop lets no further call begin.
func (s *Show) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.picture.over = true; s.closed() {
		return
	}
	close(s.over)
}

func (s *Show) closed() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// settle stops the Show and waits for the calls that are under way, for a moment. One that takes longer is given up.
func (s *Show) settle() {
	s.stop()
	for _, lane := range []struct {
		ended  <-chan struct{}
		wait   time.Duration
		cancel context.CancelFunc
	}{{s.typed, typingWait, s.cancelTyping}, {s.drawn, settleWait, s.cancel}} {
		timer := time.NewTimer(lane.wait)
		select {
		case <-lane.ended:
		case <-timer.C:
		}
		timer.Stop()
		lane.cancel()
	}
}

// Settle ends what the chat sees of the turn. It is called before the answer is written into the journal, which gives it the
// place of the draft that it has then. It waits a moment at most.
func (s *Show) Settle() {
	if s == nil {
		return
	}
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = !s.calling
}

// place settles the Show and returns the draft, and whether the answer takes its place; otherwise the answer is a message of its
// own. known means that the journal has the same.
func (s *Show) place() (draft store.Draft, taken, known bool) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calling || s.spoilt {
		s.draft.Becomes = false
	}
	s.taken = s.draft.Becomes && s.draft.Message != ""
	known = s.settled || !s.calling && s.draft.Message == ""
	s.spoilt = s.spoilt || s.calling
	return s.draft, s.taken, known
}

// sleep waits, and reports whether the Show goes on. wake, if not nil, ends the wait.
func (s *Show) sleep(d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.over:
		return false
	case <-wake:
	case <-timer.C:
	}
	return !s.closed()
}

// keepTyping shows that the bot types until the Show is over.
func (s *Show) keepTyping() {
	defer close(s.typed)
	if !s.typing {
		return
	}
	renew := cmp.Or(s.bounds.Typing, usualTyping) * 4 / 5
	retry := renew
	for wait := typingAfter; s.sleep(wait, nil); {
		if wait = s.o.take(s.chat, typingCost); wait > 0 {
			continue
		}
		err := s.o.sender.Typing(s.typingCtx, s.in.Adapter, s.in.Target)
		limit, limited := errors.AsType[*adapter.RateLimitError](err)
		_, refused := errors.AsType[*adapter.RefusedError](err)
		switch {
		case err == nil:
			s.types.Store(true)
			wait, retry = renew, renew
		case limited:
			wait = max(renew, limit.RetryAfter)
		case refused:
			return
		default:
			wait, retry = retry, min(2*retry, maxTypingRetry)
		}
	}
}

// draw keeps the message in the chat like the picture until the Show is over.
func (s *Show) draw() {
	defer close(s.drawn)
	for {
		s.mu.Lock()
		now := time.Now()
		text, due, over := s.picture.next(now), s.picture.due(), s.picture.over
		s.mu.Unlock()
		wait := max(time.Until(due), time.Millisecond)
		switch {
		case over:
			return
		case text == "" && due.IsZero():
			wait = time.Hour // nothing is due before something changes
		case text != "":
			if wait = s.o.take(s.chat, messageCost); wait == 0 {
				wait = s.show(text)
			} else if !s.sleep(wait, nil) { // a change does not shorten this wait
				return
			}
		}
		if !s.sleep(wait, s.wake) {
			return
		}
	}
}

// show has the chat see text. It returns after how long to look again.
func (s *Show) show(text string) (wait time.Duration) {
	if s.drafts {
		return s.sketch(text)
	}
	return s.put(text)
}

// put makes the message in the chat what text says. It returns after how long to look again.
func (s *Show) put(text string) (wait time.Duration) {
	s.mu.Lock()
	if s.closed() {
		s.mu.Unlock()
		return 0
	}
	s.calling = true
	draft := s.draft
	draft.Becomes = s.picture.becomes()
	s.mu.Unlock()

	known := draft.Message != ""
	var err error
	if !known {
		err = s.o.keep(s.ctx, draft) // before it is sent, so that no chat has one that is not on record
	}
	if err == nil {
		m := adapter.Outgoing{Target: draft.Target, Text: text, Markdown: draft.Becomes, Passing: true}
		if known {
			_, err = s.o.sender.Edit(s.ctx, draft.Adapter, draft.Message, m)
		} else {
			var sent adapter.Sent
			sent, err = s.o.sender.Send(s.ctx, draft.Adapter, m)
			if len(sent.IDs) > 0 {
				draft.Message = sent.IDs[0]
			}
			if err == nil && draft.Message == "" {
				err = errors.New("the platform named no message")
			}
		}
	} else {
		err = &adapter.RefusedError{Why: err.Error()}
	}
	return s.outcome(draft, known, text, err)
}

// outcome notes what became of a call about the message, which was known before or not.
func (s *Show) outcome(draft store.Draft, known bool, text string, err error) (wait time.Duration) {
	spoilt := err != nil && known && adapter.MayHaveArrived(err)
	switch {
	case !known && draft.Message == "":
		s.o.drop(draft, err)
	case !known, spoilt:
		draft.Becomes = draft.Becomes && !spoilt
		if keepErr := s.o.keep(context.WithoutCancel(s.ctx), draft); keepErr != nil {
			draft.Becomes = false // the answer of the next life would not know of it
		}
	}
	_, refused := errors.AsType[*adapter.RefusedError](err)
	_, limited := errors.AsType[*adapter.RateLimitError](err)
	givenUp := err != nil && (refused || limited || adapter.MayHaveArrived(err))
	if givenUp {
		s.o.o.Log.Debug("draft given up", "session", draft.Session, "adapter", draft.Adapter, "error", term.Clean(err.Error(), 300))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calling = false
	s.draft, s.spoilt = draft, s.spoilt || spoilt
	s.picture.over = s.picture.over || givenUp // no more drafts in this turn
	if err != nil {
		return draftRetry
	}
	s.picture.drawn(time.Now(), text)
	s.draws.Store(true)
	return time.Millisecond
}
