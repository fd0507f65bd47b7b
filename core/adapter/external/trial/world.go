package trial

import (
	"context"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/external"
	"gatewaytui/core/process"
)

// world is a platform that the program under test connects, and the peer that plays it. It is a conformance.Peer in real time.
type world struct {
	*stage
	platform *external.Platform
}

// Platform implements conformance.Peer.
func (w *world) Platform() adapter.Platform {
	if w.platform == nil {
		w.platform = external.New(external.Options{
			Name: w.o.Name, Command: w.o.Command, Settings: w.settings(), Groups: w.o.Groups, Workdir: w.o.Workdir, KillGrace: killGrace,
			Spawn: func(ctx context.Context, spec process.Spec) (*process.Process, error) {
				return w.spawn(ctx, spec, w.env())
			},
		})
	}
	return w.platform
}

// Times implements conformance.Timed.
func (w *world) Times() conformance.Times {
	return conformance.Times{
		// A row makes a connect and a call that fail, one after the other.
		Call: min(5*time.Second+5*w.took, 15*time.Second), Step: 20 * time.Millisecond, Come: w.pace.come, Lag: w.pace.lag,
		Settle: w.pace.settle, Silence: 18 * time.Second, Fails: w.repeats(),
	}
}

// Pass implements conformance.Peer.
func (s *stage) Pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

// Say implements conformance.Peer.
func (w *world) Say(text string) { w.peer.must("say", fields{"text": text}) }

// Texts implements conformance.Peer.
func (w *world) Texts() []string { return w.peer.must("texts", nil).Texts }

// Fail implements conformance.Peer.
func (w *world) Fail(f conformance.Fault) bool { return w.peer.must("fail", fields{"fault": f}).OK }

// Heal implements conformance.Peer. A peer that is gone has no faults left.
func (w *world) Heal() { _, _ = w.peer.ask("heal", nil) }

// SayFile implements conformance.FilePeer.
func (w *world) SayFile(text, name, content string) {
	w.peer.must("say_file", fields{"text": text, "name": name, "content": []byte(content)})
}

// Files implements conformance.FilePeer.
func (w *world) Files() (out []conformance.SentFile) {
	for _, f := range w.peer.must("files", nil).Files {
		out = append(out, conformance.SentFile{Name: f.Name, Content: string(f.Content), Text: f.Text})
	}
	return out
}

// Reactions implements conformance.ReactionPeer.
func (w *world) Reactions(message string) []string {
	return w.peer.must("reactions", fields{"message": message}).Reactions
}

// Press implements conformance.ButtonPeer.
func (w *world) Press(label string, stranger bool) bool {
	return w.peer.must("press", fields{"label": label, "stranger": stranger}).OK
}

var (
	_ conformance.Test         = (*stage)(nil)
	_ conformance.Timed        = (*world)(nil)
	_ conformance.FilePeer     = (*world)(nil)
	_ conformance.ReactionPeer = (*world)(nil)
	_ conformance.ButtonPeer   = (*world)(nil)
)
