package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// writer is a model whose answer comes in pieces, over about two seconds.
type writer struct{ script }

const (
	writerPieces = 20
	writerPace   = 100 * time.Millisecond
)

func (w writer) New() model.Client { return writerClient{scriptClient(w)} }

type writerClient struct{ scriptClient }

func (writerClient) Complete(ctx context.Context, _ model.Request, delta func(string)) (model.Response, error) {
	var text strings.Builder
	for i := range writerPieces {
		select {
		case <-time.After(writerPace): // modelled: the speed of a model
		case <-ctx.Done():
			return model.Response{}, context.Cause(ctx)
		}
		piece := fmt.Sprintf("piece %d of an answer ", i)
		text.WriteString(piece)
		delta(piece)
	}
	return says(text.String()), nil
}

// lively is a platform with these abilities, whose calls are done at once. It counts the answers that are whole.
type lively struct {
	*platform
	can     []adapter.Ability
	answers *atomic.Int64
}

func (p lively) Abilities() []adapter.Ability { return p.can }

func (p lively) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	c, err := p.platform.Connect(ctx, r)
	return livelyConn{c.(*conn), p.answers}, err
}

type livelyConn struct {
	*conn
	answers *atomic.Int64
}

func (livelyConn) Typing(context.Context, string) error { return nil }

func (c livelyConn) Send(_ context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	if !m.Passing {
		c.answers.Add(1)
	}
	return adapter.Sent{IDs: []string{"1"}}, nil
}

func (c livelyConn) Edit(ctx context.Context, _ string, m adapter.Outgoing) (adapter.Sent, error) {
	return c.Send(ctx, m)
}

func (livelyConn) Remove(context.Context, string, string) error { return nil }

// cpu is the processor time of this process so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWhatAChatSees is what typing, and the answer as it is written, add to a turn of two seconds: the same turns of 500 chats at
// once without them, with the one, and with both, in processor time.
func BenchmarkWhatAChatSees(b *testing.B) {
	const chats, rounds = 500, 3
	kinds := []struct {
		name, stream string
		can          []adapter.Ability
	}{
		{"plain", "off", nil},
		{"typing", "off", []adapter.Ability{adapter.AbilityTyping}},
		{"streaming", config.StreamEdit, []adapter.Ability{adapter.AbilityTyping, adapter.AbilityEdit}},
	}
	took := map[string][]time.Duration{}
	for range b.N {
		for range rounds {
			for _, kind := range kinds {
				p := lively{&platform{name: "chat"}, kind.can, new(atomic.Int64)}
				l := start(b, func(s *setup) {
					s.model = writer{}
					s.cfg.Routes = []*config.Route{{Match: "*", Agent: "default", Chat: config.Chat{Progress: "off", Stream: kind.stream}}}
					s.opts = func(o *Options) { o.Platforms = []adapter.Platform{p} }
				})
				began := cpu(b)
				for i := range chats {
					l.say(fmt.Sprint("chat:dm:", i), fmt.Sprint(i), "hello")
				}
				l.wait("every chat has its answer", func() bool { return p.answers.Load() == chats })
				took[kind.name] = append(took[kind.name], (cpu(b)-began)/chats)
				l.stop(ops.ModeImmediate)
			}
		}
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return float64(took[name][len(took[name])/2].Microseconds())
	}
	b.ReportMetric(median("plain"), "plain-µs/turn")
	b.ReportMetric(median("typing")/median("plain"), "typing-ratio")
	b.ReportMetric(median("streaming")/median("plain"), "streaming-ratio")
}

// BenchmarkCompaction is what the fitting of a conversation adds to its turns, summaries included: the same 1,500 turns with a model whose context
// never fills, and with one whose context holds 8,192 tokens, in processor time.
func BenchmarkCompaction(b *testing.B) {
	const turns, rounds = 1500, 3
	var ratios []float64
	summaries := 0
	for range b.N {
		for range rounds {
			took := map[int]time.Duration{}
			for _, window := range []int{1 << 30, 8192} {
				e := &endpoint{window: window, told: true}
				l := start(b, func(s *setup) { s.model = e })
				began := cpu(b)
				for i := range turns {
					key := fmt.Sprint("chat:dm:", i%10) // each conversation is compacted, and none grows without end
					l.ask(key, fmt.Sprintf("message %d: %s", i, strings.Repeat("some words ", i%40)))
				}
				took[window] = cpu(b) - began
				summaries = e.summaries
				l.stop(ops.ModeImmediate)
			}
			ratios = append(ratios, float64(took[8192])/float64(took[1<<30]))
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(summaries)/turns, "summaries/turn")
}
