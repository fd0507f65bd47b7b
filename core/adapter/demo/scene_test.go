package demo

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/fixtures"
)

// The demo of someone who has never seen the program: something happens within five seconds, and people do different
// things at different times (TF38).
func TestTheSceneIsLivelyAndOutOfStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		in := &clocked{began: began}
		talk := &Talk{}
		s := adapter.NewSupervisor(adapter.Options{ConnectTimeout: time.Second, CallTimeout: time.Second, SendTimeout: time.Second, Receiver: in})
		var platforms []*Platform
		for _, r := range Scene() {
			p := New(r.Spec, Options{Lines: r.Lines, Talk: talk})
			platforms = append(platforms, p)
			s.Add(p)
		}
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(2 * time.Minute)
		cancel()
		for _, p := range platforms {
			close(p.released)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		early, hangs, together := map[string]bool{}, 0, 0
		for i, m := range in.heard {
			if m.at < 5*time.Second {
				early[m.Adapter] = true
			}
			if m.Text == "hang" {
				hangs++
			}
			if i > 0 && m.at-in.heard[i-1].at < 100*time.Millisecond {
				together++
			}
		}
		if len(early) < 4 {
			t.Errorf("only %v spoke in the first five seconds", early)
		}
		if hangs != 1 {
			t.Errorf("%d chats were made to hang in two minutes, want one, once", hangs)
		}
		if len(in.heard) < 20 || together > len(in.heard)/4 {
			t.Errorf("%d of %d messages came together with another", together, len(in.heard))
		}
		if lines := talk.Lines(); len(lines) != talkKept || lines[len(lines)-1].Text == "" {
			t.Errorf("the talk is %+v", lines)
		}
	})
}

// clocked notes when each message came.
type clocked struct {
	adapter.Receiver
	mu    sync.Mutex
	began time.Time
	heard []heardAt
}

func (c *clocked) Receive(_ context.Context, m adapter.Inbound) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, heardAt{m, time.Since(c.began)})
	return "", nil
}

type heardAt struct {
	adapter.Inbound
	at time.Duration
}

// Each line of the scene is one that the demo's model answers, and only the one that hangs is silent for long: the demo
// calls a turn stuck after four seconds.
func TestTheModelOfTheDemoUnderstandsTheScene(t *testing.T) {
	small, err := fixtures.Script("demo")
	if err != nil {
		t.Fatal(err)
	}
	rest, err := fixtures.Script("default")
	if err != nil {
		t.Fatal(err)
	}
	script, err := model.ParseScript(append(small, rest...))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := model.NewScripted(script, "demo", 0).New()
		defer c.Close()
		for _, r := range Scene() {
			for _, l := range r.Lines {
				if l.Text == "hang" {
					continue
				}
				began, last, silence := time.Now(), time.Now(), time.Duration(0)
				resp, err := c.Complete(t.Context(), model.Request{Session: "x", Messages: []model.Message{{Role: model.RoleUser, Content: l.Text}}}, func(string) {
					silence, last = max(silence, time.Since(last)), time.Now()
				})
				silence = max(silence, time.Since(last))
				if err != nil || strings.Contains(resp.Message.Content, "do not understand") || len(resp.Message.ToolCalls) == 0 && resp.Message.Content == "" {
					t.Errorf("%q: %q, %v", l.Text, resp.Message.Content, err)
				}
				if silence > 3*time.Second {
					t.Errorf("%q is silent for %s of %s", l.Text, silence, time.Since(began))
				}
			}
		}
	})
	if got := Hangs(Scene()); !slices.Equal(got, []string{"dock"}) {
		t.Errorf("%q hang at a stop", got)
	}
}
