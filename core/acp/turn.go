package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"gatewaytui/core/agent"
	"gatewaytui/core/environment"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// cancelMost is how long a program may take to end a turn that was cancelled. Then it is killed.
	cancelMost = 2 * time.Second
	// maxText bounds the answer of one turn, in bytes.
	maxText = 1 << 20
	// maxCalls is how many calls of tools of one turn are distinguished.
	maxCalls = 1000
	// titleWidth is the room for what a call does, in cells.
	titleWidth = 120
)

// turn is a turn that a program works on.
type turn struct {
	agent.ExternalTurn
	l     *link
	ctx   context.Context
	place environment.Place
	// over is closed when the turn has ended: what the program says of it then is not heard.
	over chan struct{}
	// asking is held by the one permission that a person is asked for; it holds one.
	asking chan struct{}
	// ended gets the gateway's own answer when it ends the turn; it holds one.
	ended chan string

	mu    sync.Mutex // guards what follows
	text  strings.Builder
	cut   bool
	apart bool // the next text begins a paragraph
	calls map[sdk.ToolCallId]*call
	// asked is how often the program asked permission, queued how many of its requests have no answer yet. waiting is how many of them the
	// gate has. waited is how long those waited since the last look, but for what began at since.
	asked, queued, waiting int
	since                  time.Time
	waited                 time.Duration
}

// finished is how a request to work on a turn ended.
type finished struct {
	resp sdk.PromptResponse
	err  error
}

// prompt lets the program work on a turn. fresh means that its session does not have the conversation.
func (l *link) prompt(ctx context.Context, in agent.ExternalTurn, place environment.Place, fresh bool) (agent.ExternalAnswer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &turn{
		ExternalTurn: in, l: l, ctx: ctx, place: place, over: make(chan struct{}), asking: make(chan struct{}, 1), ended: make(chan string, 1), calls: map[sdk.ToolCallId]*call{},
	}
	l.turn.Store(t)
	defer func() {
		l.turn.Store(nil)
		close(t.over)
		t.endCalls()
	}()
	done := make(chan finished, 1)
	l.c.set.tasks.Go(func() { // it ends with the answer or with the connection
		resp, err := sdk.SendRequest[sdk.PromptResponse](l.rpc, context.WithoutCancel(ctx), sdk.AgentMethodSessionPrompt, sdk.PromptRequest{SessionId: l.talks(), Prompt: l.blocks(in, fresh)})
		done <- finished{resp, err}
	})
	limit := time.NewTimer(l.c.of.def.TurnTimeout)
	defer limit.Stop()
	for {
		select {
		case f := <-done:
			return t.answer(f)
		case <-l.gone:
			return t.lost(ctx)
		case text := <-t.ended:
			cancel(errOver)
			t.cancel(done)
			return agent.ExternalAnswer{Text: text, Over: true, Asked: true}, nil
		case <-ctx.Done():
			t.cancel(done)
			return agent.ExternalAnswer{Text: t.said(), Asked: true}, context.Cause(ctx)
		case <-limit.C:
			if left := t.excused(); left > 0 {
				limit.Reset(left)
				continue
			}
			cancel(errOver)
			t.cancel(done)
			return agent.ExternalAnswer{Text: t.stopped(), Over: true, Asked: true}, nil
		}
	}
}

// errOver is why a request for permission ends with a turn that the gateway ended.
var errOver = errors.New("the turn was ended")

// stopped is the answer of a turn that took too long.
func (t *turn) stopped() string {
	limit := t.l.c.of.def
	text := fmt.Sprintf("I stopped here without finishing: the turn took longer than %v (agents.%s.turn_timeout). What was done so far is kept; send a message to continue.", limit.TurnTimeout, limit.Name)
	return strings.TrimSpace(t.said() + "\n\n" + text)
}

// lost is the end of a turn whose program is gone.
func (t *turn) lost(ctx context.Context) (agent.ExternalAnswer, error) {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), endMost)
	defer cancel()
	why := t.l.reason(nil)
	return agent.ExternalAnswer{Text: t.said(), Asked: true}, errors.Join(why, t.l.end(stop, why))
}

// cancel asks the program to end the turn, and kills it if it does not.
func (t *turn) cancel(done <-chan finished) {
	l := t.l
	wait := time.NewTimer(cancelMost)
	defer wait.Stop()
	l.c.set.tasks.Go(func() { // the deadline of the write bounds it
		_ = l.rpc.SendNotification(context.WithoutCancel(t.ctx), sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: l.talks()})
	})
	select {
	case <-done:
		return
	case <-l.gone:
	case <-wait.C:
		l.fail(fmt.Errorf("it did not end a cancelled turn within %v", cancelMost))
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), endMost)
	defer cancel()
	if err := l.end(stop, nil); err != nil {
		l.c.set.o.Log.Warn("external agent not ended", "event", ops.LogACP, "session", l.c.session, "agent", l.c.of.def.Name, "error", term.Clean(err.Error(), 300))
	}
}

// excused is how much longer the turn may take because it waited for people since the last look; 0: no longer.
func (t *turn) excused() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.waited
	if t.waiting > 0 {
		now := time.Now()
		left, t.since = left+now.Sub(t.since), now
	}
	t.waited = 0
	return left
}

// answer is the end of a turn that the program ended.
func (t *turn) answer(f finished) (agent.ExternalAnswer, error) {
	answer := agent.ExternalAnswer{Text: t.said(), Asked: true}
	if f.err != nil {
		if t.l.over() {
			return t.lost(t.ctx)
		}
		return answer, fmt.Errorf("the program refused the turn: %w", f.err)
	}
	select {
	case text := <-t.ended: // the program heard of it first
		answer.Text, answer.Over = text, true
	default:
	}
	switch f.resp.StopReason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonMaxTurnRequests:
		answer.Finish = model.FinishLength
	case sdk.StopReasonRefusal:
		if answer.Text == "" {
			answer.Text = "(the agent refused to answer)"
		}
	case sdk.StopReasonCancelled:
		if answer.Text == "" {
			answer.Text = "(the agent stopped)"
		}
	}
	if u := f.resp.Usage; u != nil && u.InputTokens >= 0 && u.OutputTokens >= 0 {
		answer.Usage = model.Usage{In: int64(u.InputTokens), Out: int64(u.OutputTokens)}
	}
	return answer, nil
}

// said is what the program has answered so far.
func (t *turn) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// blocks are the message of a turn as the program gets it.
func (l *link) blocks(in agent.ExternalTurn, fresh bool) (blocks []sdk.ContentBlock) {
	note := in.Note
	if fresh && in.Past != "" {
		note = strings.TrimSpace("This conversation began before this session. What was said so far:\n\n" + in.Past + "\n\n" + note)
	}
	if note != "" {
		blocks = append(blocks, sdk.TextBlock("[From the gateway]\n"+note+"\n[The user's message follows]"))
	}
	blocks = append(blocks, sdk.TextBlock(in.Text))
	lost := 0
	for _, image := range in.Images {
		kind, data, inline := dataURL(image.URL)
		if !inline || !l.images() {
			lost++
			continue
		}
		blocks = append(blocks, sdk.ImageBlock(data, kind))
	}
	if lost > 0 {
		blocks = append(blocks, sdk.TextBlock(fmt.Sprintf("[%d pictures of this message could not be shown to you]", lost)))
	}
	return blocks
}

// dataURL takes a URL such as data:image/png;base64,… apart.
func dataURL(url string) (kind, data string, is bool) {
	rest, is := strings.CutPrefix(url, "data:")
	if !is {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}
