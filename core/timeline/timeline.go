// Package timeline records what one turn does, as it happens: its model calls, tool calls, waits, requests to people and compactions,
// with their times and what they used.
//
// What it promises (OP3): a Line is bounded, for any number of calls. It has no text of a conversation: names of models and tools, and the
// beginning of what a tool was asked to do. Recording costs memory alone, well below a microsecond a call, and waits for nothing.
//
// A Line belongs to its turn. Its record is written with the commit that ends the turn.
//
// Locks: Line.mu is a leaf and is never held over I/O.
package timeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// Most is how many calls a Line holds. Of more the shortest are left out, and counted.
	Most = 200
	// maxName, maxHead and maxResult bound texts, in cells.
	maxName   = 60
	maxHead   = 60
	maxResult = 60
	// leastQueue is the shortest wait of a message that is shown.
	leastQueue = 100 * time.Millisecond
	// leastWait is the shortest wait that is kept, in milliseconds.
	leastWait = 20
	// open is the end of a call that goes on.
	open = -1
)

// Item is one call of a Record. Times are milliseconds since the turn began; Start is negative for what was before.
type Item struct {
	Kind  ops.TimelineKind `json:"k"`
	Name  string           `json:"n"`
	Start int64            `json:"s"`
	// End is -1 while the call goes on.
	End int64 `json:"e"`
	// Head is the beginning of what a tool was asked to do; Child is the child agent that made the call: "1", "1/2".
	Head   string  `json:"h,omitempty"`
	Child  string  `json:"c,omitempty"`
	In     int64   `json:"i,omitempty"`
	Cached int64   `json:"a,omitempty"`
	Out    int64   `json:"o,omitempty"`
	Cost   float64 `json:"m,omitempty"`
	// Priced means that Cost is known.
	Priced bool   `json:"p,omitempty"`
	Result string `json:"r,omitempty"`
}

// Sum is all calls of a kind, also those that a Record leaves out.
type Sum struct {
	Kind  ops.TimelineKind `json:"k"`
	Calls int              `json:"n"`
	MS    int64            `json:"e"`
}

// Record is a Line at one moment, as the store keeps it.
type Record struct {
	// Agent is the name of the definition that worked on the turn.
	Agent string `json:"agent,omitempty"`
	// Items are in the order of their start. Left is how many shorter ones are left out.
	Items []Item `json:"items"`
	Left  int    `json:"left,omitempty"`
	Sums  []Sum  `json:"sums"`
}

// Line records one turn. Its methods may be called from any goroutine. A nil *Line records nothing.
type Line struct {
	began time.Time

	mu    sync.Mutex // guards what follows, and every Span of the Line
	spans []*Span
	left  int
	sums  []Sum
}

// Span is one call of a Line. A nil *Span records nothing. A Span that has ended does not change any more.
type Span struct {
	line *Line
	item Item
	over bool
	// asked means that a person was asked, hidden that the call is not shown.
	asked, hidden bool
}

// New returns the Line of a turn that begins now. since is when its message was accepted; zero: not known.
func New(now, since time.Time) *Line {
	l := &Line{began: now}
	if waited := now.Sub(since); !since.IsZero() && waited >= leastQueue {
		s := &Span{line: l, item: Item{Kind: ops.TimelineWait, Name: ops.TimelineQueue, Start: -waited.Milliseconds()}, over: true}
		l.spans = append(l.spans, s)
		l.add(s.item)
	}
	return l
}

// Begin records that a call begins. child is the child agent that makes it; empty: the turn's own agent does.
func (l *Line) Begin(kind ops.TimelineKind, name, child string) *Span {
	if l == nil {
		return nil
	}
	s := &Span{line: l, item: Item{Kind: kind, Name: term.Clean(name, maxName), Child: child, End: open}}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.item.Start = l.now()
	l.put(s)
	return s
}

// now is the time since the turn began, in milliseconds.
func (l *Line) now() int64 { return time.Since(l.began).Milliseconds() }

// put appends s, in the place of the shortest call that has ended if there is no room. The caller holds mu.
func (l *Line) put(s *Span) {
	l.spans = append(l.spans, s)
	if len(l.spans) <= Most {
		return
	}
	shortest := -1
	for i, other := range l.spans {
		if other.over && (shortest < 0 || other.item.took() < l.spans[shortest].item.took()) {
			shortest = i
		}
	}
	if shortest < 0 { // all go on: the new one is left out
		shortest = len(l.spans) - 1
	}
	l.spans = slices.Delete(l.spans, shortest, shortest+1)
	l.left++
}

func (i Item) took() int64 { return i.End - i.Start }

// add counts a call that ended. The caller holds mu.
func (l *Line) add(i Item) {
	at := slices.IndexFunc(l.sums, func(s Sum) bool { return s.Kind == i.Kind })
	if at < 0 {
		at = len(l.sums)
		l.sums = append(l.sums, Sum{Kind: i.Kind})
	}
	l.sums[at].Calls++
	l.sums[at].MS += max(i.took(), 0)
}

// Says records the beginning of what a tool was asked to do. The first text stays.
func (s *Span) Says(head string) {
	if s == nil {
		return
	}
	head = term.Clean(term.Redact(head), maxHead)
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.item.Head == "" && !s.over {
		s.item.Head = head
	}
}

// Named replaces the name: the model that answered is known when it did.
func (s *Span) Named(name string) {
	if s == nil || name == "" {
		return
	}
	name = term.Clean(name, maxName)
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if !s.over {
		s.item.Name = name
	}
}

// Used records the tokens of a model call: in the request, of them from a cache, and in the answer. priced says that cost is known.
func (s *Span) Used(in, cached, out int64, cost float64, priced bool) {
	if s == nil {
		return
	}
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if !s.over {
		s.item.In, s.item.Cached, s.item.Out, s.item.Cost, s.item.Priced = in, cached, out, cost, priced
	}
}

// Ask records that a call waits for a person. The call is not shown until Again.
func (s *Span) Ask(head string) *Span {
	if s == nil {
		return nil
	}
	head = term.Clean(term.Redact(head), maxHead)
	l := s.line
	ask := &Span{line: l, item: Item{Kind: ops.TimelineApproval, Name: s.item.Name, Child: s.item.Child, Head: head, End: open}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.hidden {
		s.asked, s.hidden = true, true
		l.spans = slices.DeleteFunc(l.spans, func(other *Span) bool { return other == s })
	}
	ask.item.Start = l.now()
	l.put(ask)
	return ask
}

// Again records that a call goes on for which a person was asked. Its time begins now: what waited is not counted twice.
func (s *Span) Again() {
	if s == nil {
		return
	}
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	if s.hidden && !s.over {
		s.hidden = false
		s.item.Start = s.line.now()
		s.line.put(s)
	}
}

// End records that the call has ended, with what became of it in a few words; empty: it went well. Only the first End counts.
func (s *Span) End(result string) {
	if s == nil {
		return
	}
	result = term.Clean(result, maxResult)
	l := s.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.over {
		return
	}
	s.over, s.item.End, s.item.Result = true, l.now(), result
	switch short := s.item.Kind == ops.TimelineWait && s.item.took() < leastWait; {
	case short, s.asked && result == ops.TimelineNotRun: // the answer says so
		l.spans = slices.DeleteFunc(l.spans, func(other *Span) bool { return other == s })
	case !s.hidden:
		l.add(s.item)
	}
}

// Record is what l has now, for a turn of this agent. With ended every call that goes on is recorded as interrupted, and l itself does
// not change.
func (l *Line) Record(agent string, ended bool) Record {
	r := Record{Agent: agent, Items: []Item{}, Sums: []Sum{}}
	if l == nil {
		return r
	}
	l.mu.Lock()
	now := l.now()
	copied := Line{sums: append(r.Sums, l.sums...)}
	for _, s := range l.spans {
		item := s.item
		if !s.over {
			running := item
			running.End = now
			copied.add(running)
			if ended {
				item.End, item.Result = now, ops.TimelineInterrupted
			}
		}
		r.Items = append(r.Items, item)
	}
	r.Left = l.left
	l.mu.Unlock()
	r.Sums = copied.sums
	slices.SortStableFunc(r.Items, func(a, b Item) int { return int(a.Start - b.Start) })
	return r
}

// Encode is r for the store.
func (r Record) Encode() string {
	text, _ := json.Marshal(r) // texts and finite numbers: it always marshals
	return string(text)
}

// Decode reads what Encode wrote.
func Decode(text string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Record{}, fmt.Errorf("read a timeline: %w", err)
	}
	return r, nil
}

// Rows is r as operators see it, for a turn that began at a time; elapsed is how long it has run. texts says that they may see what
// tools were asked to do.
func (r Record) Rows(began time.Time, elapsed int64, texts bool) (items []ops.TimelineItem, sums []ops.TimelineSum) {
	items, sums = make([]ops.TimelineItem, 0, len(r.Items)), make([]ops.TimelineSum, 0, len(r.Sums))
	at := func(ms int64) ops.Time { return ops.At(began.Add(time.Duration(ms) * time.Millisecond)) }
	for _, i := range r.Items {
		row := ops.TimelineItem{
			Kind: i.Kind, Name: i.Name, Child: i.Child, StartedAt: at(i.Start), TokensIn: i.In, TokensCached: i.Cached, TokensOut: i.Out, Result: i.Result,
		}
		if texts {
			row.Text = i.Head
		}
		if i.End == open {
			row.ElapsedMS = max(elapsed-i.Start, 0)
		} else {
			row.EndedAt, row.ElapsedMS = at(i.End), max(i.took(), 0)
		}
		if i.Priced {
			cost := i.Cost
			row.Cost = &cost
		}
		items = append(items, row)
	}
	for _, s := range r.Sums {
		sums = append(sums, ops.TimelineSum{Kind: s.Kind, Calls: s.Calls, ElapsedMS: s.MS})
	}
	return items, sums
}
