package model

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxCounted bounds the sessions whose failures are counted. Beyond it the counts start again: a script that fails
// "the first N times" is for a person or a test that looks at a few sessions.
const maxCounted = 10_000

// scripted is the Provider that plays a Script. What it answers follows from the request alone, so that a session goes
// on where it was after a restart; only error.times is counted here.
type scripted struct {
	name   string
	script *Script
	window int

	mu     sync.Mutex
	failed map[played]int
}

// played names a step in a session.
type played struct {
	session string
	step    *step
}

// NewScripted returns a model that plays script and is called name. Its context has so many tokens; 0: it has no bound. It may be
// shared like any Provider.
func NewScripted(script *Script, name string, window int) Provider {
	return &scripted{name: name, script: script, window: cmp.Or(window, Unbounded), failed: map[played]int{}}
}

func (p *scripted) Name() string { return p.name }

func (p *scripted) Window() int { return p.window }

// Vision is false: a script plays text.
func (p *scripted) Vision() bool { return false }

func (p *scripted) New() Client {
	c := &scriptedClient{scripted: p}
	// The client's life, not a call's: Close ends it.
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

type scriptedClient struct {
	*scripted
	life context.Context
	end  context.CancelFunc
}

func (c *scriptedClient) Close() error {
	c.end()
	return nil
}

// closingStep answers with the tool result where a rule says nothing else.
var closingStep = step{Reply: &template{"{{result}}"}}

// lostStep answers where no rule matches.
var lostStep = step{Reply: &template{"No rule of the script matches this message."}}

func (c *scriptedClient) Complete(ctx context.Context, req Request, delta func(string)) (Response, error) {
	if err := c.ended(ctx); err != nil {
		return Response{}, err
	}
	f := readFacts(req, c.name)
	s := c.script.step(f)
	if err := c.pause(ctx, s, f); err != nil {
		return Response{}, err
	}
	if s.Error != nil && c.fails(req.Session, s) {
		return Response{}, c.failure(s.Error, f)
	}
	m := Message{Role: RoleAssistant}
	if s.Reply != nil {
		text, whole := s.Reply.fill(f)
		if !whole {
			text = readable(f.result)
		}
		m.Content = text
	}
	for _, call := range s.Call {
		m.ToolCalls = append(m.ToolCalls, toolCall("", call.Tool, fillArguments(call.Arguments, f)))
	}
	if delta != nil {
		if err := c.stream(ctx, s, f, m.Content, delta); err != nil {
			return Response{}, err
		}
	}
	usage := Usage{Out: words(m.Content)}
	for _, said := range req.Messages {
		usage.In += words(said.Content)
	}
	return Response{Message: m, Usage: usage}, nil
}

// pause plays what comes before the answer: wedge, delay, hang.
func (c *scriptedClient) pause(ctx context.Context, s *step, f *facts) error {
	wedge, err := c.duration("wedge", s.Wedge, f)
	if err != nil {
		return err
	}
	// The point of a wedge: nothing ends it, not even cancellation, until it has passed.
	time.Sleep(min(wedge, maxWedge))
	delay, err := c.duration("delay", s.Delay, f)
	if err != nil {
		return err
	}
	if err := c.wait(ctx, delay); err != nil {
		return err
	}
	if s.Hang {
		select {
		case <-ctx.Done():
		case <-c.life.Done():
		}
		return c.ended(ctx)
	}
	return nil
}

// stream hands text to delta in the pieces and at the pace of s.
func (c *scriptedClient) stream(ctx context.Context, s *step, f *facts, text string, delta func(string)) error {
	if text == "" {
		return nil
	}
	pace, err := c.duration("pace", s.Pace, f)
	if err != nil {
		return err
	}
	runes := []rune(text)
	for piece := range slices.Chunk(runes, cmp.Or(s.Chunk, len(runes))) {
		delta(string(piece))
		if runes = runes[len(piece):]; len(runes) == 0 {
			break
		}
		if err := c.wait(ctx, pace); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for d, or until the call must end.
func (c *scriptedClient) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-c.life.Done():
	}
	return c.ended(ctx)
}

func (c *scriptedClient) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.life.Err() != nil {
		return ErrClosed
	}
	return nil
}

// fails reports whether s fails this time, and counts it where only some times do.
func (p *scripted) fails(session string, s *step) bool {
	if s.Error.Times == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := played{session, s}
	if p.failed[key] >= s.Error.Times {
		return false
	}
	if len(p.failed) >= maxCounted {
		clear(p.failed)
	}
	p.failed[key]++
	return true
}

// failure is the error that an endpoint's answer with f's status would be.
func (p *scripted) failure(f *failure, facts *facts) *Error {
	text, _ := f.Message.fill(facts)
	said := apiError{message: text}
	e := &Error{Status: f.Status, Message: fmt.Sprintf("model %q answered %d %s", p.name, f.Status, http.StatusText(f.Status))}
	e.judge(said)
	if text := clean(said.message, ""); text != "" {
		e.Message += ": " + text
	}
	return e
}

// duration is what f makes of d. The error is for a message that makes no duration of it.
func (p *scripted) duration(key string, d duration, f *facts) (time.Duration, error) {
	if d.text == "" {
		return 0, nil
	}
	text, _ := d.fill(f)
	made, err := parseDuration(text)
	if err != nil {
		return 0, &Error{Kind: KindRefused, cause: err, Message: fmt.Sprintf("model %q cannot play its script: %s: %s", p.name, key, clean(err.Error(), ""))}
	}
	return made, nil
}

// step finds what is played next, and adds to f what the rule's match captured.
func (s *Script) step(f *facts) *step {
	for i := range s.rules {
		r := &s.rules[i]
		if !r.matches(f) {
			continue
		}
		switch {
		case f.round == 0:
			return &r.step
		case f.round <= len(r.Then):
			return &r.Then[f.round-1]
		}
		return &closingStep
	}
	return &lostStep
}

func (r *rule) matches(f *facts) bool {
	if r.Match == nil {
		return true
	}
	found := r.Match.FindStringSubmatch(f.input)
	if found != nil {
		f.groups = r.Match.groups(found)
	}
	return found != nil
}

// readFacts reads a request from its end: the last tool result, the rounds of tool calls, the user's message.
func readFacts(req Request, name string) *facts {
	f := &facts{session: req.Session, model: name}
	hasResult := false
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		switch {
		case m.Role == RoleUser:
			f.input = spoken(m.Content)
			return f
		case m.Role == RoleTool && !hasResult:
			f.result, hasResult = m.Content, true
		case m.Role == RoleAssistant && len(m.ToolCalls) > 0:
			f.round++
		}
	}
	return f
}

// words counts as a scripted model's tokens: the same text always costs the same.
func words(text string) int64 {
	var n int64
	for range strings.FieldsSeq(text) {
		n++
	}
	return n
}

// spoken is what a person said, without what the gateway adds for a model: who speaks in a group, what the message answers, and
// what was said before.
func spoken(content string) string {
	for _, note := range []string{"\n\n[It answers this message:]\n", "\n\n[Said in this group before,"} {
		content, _, _ = strings.Cut(content, note)
	}
	if who, said, found := strings.Cut(content, " says: "); found && len(who) <= 256 && !strings.Contains(who, "\n") {
		content = said
	}
	return strings.TrimSpace(content)
}
