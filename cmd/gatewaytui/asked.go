package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

const (
	// askAgain is how soon the inbox is looked at again where no event said that it changed.
	askAgain = 2 * time.Second
	// answerBound is how long one answer to a request may take.
	answerBound = 10 * time.Second
	// armAfter is how long a request is on the screen before a typed line answers it: a line that was meant for what was there before
	// is dropped.
	armAfter = 300 * time.Millisecond
)

// asked is what a turn asks a person while send waits for its answer (TR4). It answers the requests of that turn alone.
type asked struct {
	p *program
	g *remote.Gateway
	r *request
	// message is the id of the message; turn is that of its turn, empty until it begins.
	message, turn string

	noted map[string]bool // requests that were named on stderr or answered here
	card  *ops.InboxItem  // the request that the person is asked about; nil: none
	since time.Time       // when the person was asked
	typed chan typedLine
	input *bufio.Reader // nil: nothing was read yet
	reads bool          // a read of the terminal is under way
	ended bool          // the terminal's input has ended
}

// typedLine is a line of the terminal. of is the request that was open when its read began.
type typedLine struct {
	of, text string
	err      error
}

// answered waits for the answer to a message, and meanwhile has the person answer what its turn asks.
func (p *program) answered(ctx context.Context, g *remote.Gateway, r *request, req ops.Request, goesOn string) (ops.Request, error) {
	a := &asked{p: p, g: g, r: r, message: req.ID, noted: map[string]bool{}, typed: make(chan typedLine, 1)}
	type end struct {
		req ops.Request
		err error
	}
	over := make(chan end, 1)
	go func() { // its end is awaited below in every case
		req, err := p.ended(ctx, g, req, goesOn)
		over <- end{req, err}
	}()
	// What was asked before the snapshot is in the first look, what is asked after it comes as an event.
	now, _ := g.Snapshot(ctx, ops.Most{Table: ops.TableSessions}, ops.Most{Table: ops.TableAgents}, ops.Most{Table: ops.TableProcesses})
	f := follow.Start(ctx, g, now.Seq, ops.EventApprovalAsked, ops.EventApprovalAnswered, ops.EventApprovalExpired)
	defer f.Close()
	news := f.News
	look := time.NewTicker(askAgain)
	defer look.Stop()
	a.look(ctx)
	for {
		select {
		case e := <-over:
			if a.card != nil {
				p.note("")
			}
			return e.req, e.err
		case h, more := <-news:
			if !more || h.Err != nil {
				news = nil // the ticks go on
				continue
			}
			if h.Event.Type != ops.EventSkipped {
				a.look(ctx)
			}
		case <-look.C:
			a.look(ctx)
		case line := <-a.typed:
			a.reads = false
			a.hear(ctx, line)
		}
	}
}

// look reads the inbox: a request of the turn is asked about or answered, one of another turn of the session is named once.
func (a *asked) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	if a.turn == "" {
		if req, err := a.g.Request(ctx, a.message, false); err == nil {
			a.turn = req.Turn
		}
	}
	page, err := a.g.Inbox(ctx, ops.Query{Limit: ops.MaxLimit, Filter: "session:" + filter.Quote(a.r.Target)})
	if err != nil {
		return // the end of the turn says what is the matter
	}
	a.settle(page.Items)
	for _, i := range page.Items {
		own := a.turn != "" && i.Turn == a.turn
		switch question := i.Kind == ops.InboxQuestion; {
		case !a.concerns(i):
		case own && a.r.yes && !question:
			a.noted[i.ID] = true
			a.answer(ctx, i, ops.Command{Verb: ops.VerbApprove})
		case own && a.p.asks && !a.p.asJSON() && !a.ended && !a.r.yes:
			if a.card == nil {
				a.ask(i)
			}
		default:
			a.name(i)
		}
	}
}

// concerns reports whether a request of the session waits for an answer that was not asked for yet.
func (a *asked) concerns(i ops.InboxItem) bool {
	asking := a.card != nil && a.card.ID == i.ID
	return i.State == ops.InboxWaiting && !i.Kind.Remedied() && i.Session == a.r.Target && !a.noted[i.ID] && !asking
}

// settle closes the open question if its request was answered elsewhere, or has ended.
func (a *asked) settle(items []ops.InboxItem) {
	if a.card == nil {
		return
	}
	at := slices.IndexFunc(items, func(i ops.InboxItem) bool { return i.ID == a.card.ID })
	if at >= 0 && items[at].State == ops.InboxWaiting {
		return
	}
	how := "has ended"
	if at >= 0 {
		how = "is " + text.Words(items[at].State)
		if items[at].By != "" {
			how += " by " + items[at].By
		}
	}
	a.p.note("")
	a.p.note("request %s %s", a.card.ID, how)
	a.noted[a.card.ID], a.card = true, nil
}

// name prints the request on stderr for a caller who is not asked.
func (a *asked) name(i ops.InboxItem) {
	a.noted[i.ID] = true
	how := "approve " + i.ID
	if i.Kind == ops.InboxQuestion {
		how = "answer " + i.ID + " TEXT"
	}
	a.p.note("request %s waits for a person: %s; gatewaytui %s", i.ID, cmp.Or(i.Command, i.Text), how)
}

// ask shows a request, and reads one line of the terminal.
func (a *asked) ask(i ops.InboxItem) {
	a.card, a.since = &i, time.Now()
	lines.Printer{Out: a.p.err}.Request(i)
	a.prompt()
}

// scopeKeys are the keys for the scopes of an approval, in the order in which they are offered.
var scopeKeys = []struct {
	key   string
	scope ops.Scope
	words string
}{{"y", ops.ScopeOnce, "yes, this once"}, {"t", ops.ScopeTurn, "for this turn"}, {"s", ops.ScopeSession, "for this session"}, {"a", ops.ScopeAlways, "always"}}

// prompt says what can be typed, and begins to read it.
func (a *asked) prompt() {
	if a.card.Kind == ops.InboxQuestion {
		fmt.Fprint(a.p.err, "answer: ")
	} else {
		for _, k := range scopeKeys {
			if a.card.Takes(k.scope) {
				fmt.Fprintf(a.p.err, "%s %s, ", k.key, k.words)
			}
		}
		fmt.Fprint(a.p.err, "n no: ")
	}
	if a.reads {
		return
	}
	if a.input == nil {
		a.input = bufio.NewReader(a.p.in)
	}
	a.reads = true
	of := a.card.ID
	go func() { // a read of a terminal cannot be given up: it ends with a line, with the input, or with the process
		line, err := a.input.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		a.typed <- typedLine{of, strings.TrimSpace(line), err}
	}()
}

// hear takes a typed line for the open question. A line that may have been meant for what was there before is dropped.
func (a *asked) hear(ctx context.Context, line typedLine) {
	switch {
	case line.err != nil:
		a.ended = true
		a.p.note("")
		if a.card != nil {
			i := *a.card
			a.card = nil
			a.name(i)
		}
	case a.card == nil:
		a.p.note("nothing is asked now; the line was dropped")
	case line.of != a.card.ID || time.Since(a.since) < a.p.armAfter:
		a.p.note("that line was typed before request %s could be read; it was dropped", a.card.ID)
		a.prompt()
	default:
		cmd, ok := readAnswer(*a.card, line.text)
		if !ok {
			a.prompt()
			return
		}
		i := *a.card
		a.noted[i.ID], a.card = true, nil
		a.answer(ctx, i, cmd)
		a.look(ctx)
	}
}

// readAnswer is the answer that a line gives to a request; false: it is none. Behind n a reason may follow.
func readAnswer(i ops.InboxItem, line string) (cmd ops.Command, ok bool) {
	if i.Kind == ops.InboxQuestion {
		return ops.Command{Verb: ops.VerbAnswer, Text: line}, line != ""
	}
	word, rest, _ := strings.Cut(line, " ")
	word = strings.ToLower(word)
	if word == "n" || word == "no" {
		return ops.Command{Verb: ops.VerbDeny, Reason: strings.TrimSpace(rest)}, true
	}
	for _, k := range scopeKeys {
		if (word == k.key || k.key == "y" && word == "yes") && rest == "" && i.Takes(k.scope) {
			return ops.Command{Verb: ops.VerbApprove, Scope: k.scope}, true
		}
	}
	return cmd, false
}

// answer gives the answer to a request, for the turn that was shown and no other.
func (a *asked) answer(ctx context.Context, i ops.InboxItem, cmd ops.Command) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	cmd.Target, cmd.Expect = i.ID, i.Turn
	req, err := a.g.Do(ctx, cmd)
	if err == nil {
		req, err = a.g.Request(ctx, req.ID, true)
	}
	if err == nil {
		err = failed(req)
	}
	if err != nil {
		a.p.note("request %s was not answered: %s", i.ID, ops.AsError(err).Error())
	} else if a.r.yes {
		a.p.note("request %s approved with --yes: %s", i.ID, cmp.Or(i.Command, i.Text))
	}
}
