package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/conversation"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// atHome gives a gateway a platform telegram whose home chat is 7.
func atHome(s *setup) {
	s.chat.name = "telegram"
	s.cfg.Adapters.Telegram.Enabled, s.cfg.Adapters.Telegram.Home = true, "7"
}

// heard is whether a message with all of these parts went to a chat.
func (l *lab) heard(parts ...string) bool {
	return slices.ContainsFunc(l.chat.messages(), func(m string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(m, p) })
	})
}

// CV14: who started a command in the background and went away hears how it ended, and so does the model, once.
func TestCV14_ABackgroundCommandThatEndedReachesItsChatAndItsModel(t *testing.T) {
	const key = "chat:dm:1"
	var systems atomic.Pointer[[]string]
	systems.Store(&[]string{})
	answer := echo(nil)
	l := start(t, func(s *setup) {
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) {
			var system strings.Builder
			for _, m := range req.Messages {
				if m.Role == model.RoleSystem {
					system.WriteString(m.Content)
				}
			}
			all := append(slices.Clone(*systems.Load()), system.String())
			systems.Store(&all)
			return answer(ctx, req)
		})
	})
	l.say(key, "1", "bg: for i in 1 2 3 4 5; do echo line $i; done; exit 3")
	l.wait("the chat hears of the end", func() bool { return l.heard("1: ", "A background command ended", "exit code 3", "line 5") })
	if l.heard("line 1\n") {
		t.Errorf("the chat got more than the last lines: %q", l.chat.messages())
	}
	for i := range 2 {
		before := len(l.chat.messages())
		l.say(key, "1", fmt.Sprintf("question %d", i))
		l.wait("an answer", func() bool { return len(l.chat.messages()) > before })
	}
	calls := *systems.Load()
	told := 0
	for _, system := range calls {
		if strings.Contains(system, "exit code 3") && strings.Contains(system, "line 1") {
			told++
		}
	}
	if told != 1 || !strings.Contains(calls[len(calls)-2], "exit code 3") {
		t.Errorf("the model heard of the end in %d calls, want the first call after it alone: %q", told, calls)
	}
}

func TestCV14_AnEndBecauseOfItsAgeReachesTheChat(t *testing.T) {
	l := start(t, func(s *setup) { s.cfg.Process.MaxAge.Duration = time.Second })
	l.say("chat:dm:1", "1", "bg: sleep 300")
	l.wait("the chat hears why the command ended", func() bool { return l.heard("1: ", "A background command ended", "process.max_age") })
}

func TestCV14_AnEndThatIsNoNewsReachesNoChat(t *testing.T) {
	const key = "chat:dm:1"
	pid := func(l *lab) int {
		l.t.Helper()
		rows := l.g.procs.SessionRows(key)
		if len(rows) == 0 {
			l.t.Fatal("the session has no process")
		}
		return rows[0].PID
	}
	for name, end := range map[string]func(l *lab){
		"by /new": func(l *lab) {
			if _, err := l.g.conversations.End(context.Background(), key, conversation.Reset("test")); err != nil {
				l.t.Error(err)
			}
		},
		"by the verb kill": func(l *lab) {
			p := pid(l)
			l.do(ops.Command{Verb: ops.VerbKill, Target: fmt.Sprint(p)})
		},
		"that the model has read": func(l *lab) {
			p, _ := l.g.procs.Get(pid(l))
			if _, err := p.Write(context.Background(), []byte("go\n")); err != nil {
				l.t.Error(err)
			}
			if _, err := p.Wait(context.Background()); err != nil {
				l.t.Error(err)
			}
			p.EndKnown().Store(true)
		},
		"by the stop": func(l *lab) { l.stop(ops.ModeFast) },
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			l.say(key, "1", "bg: read line")
			l.wait("the command runs and the turn has ended", func() bool { return len(l.chat.messages()) == 1 && l.g.procs.CountSession(key) == 1 })
			end(l)
			l.wait("the command has ended", func() bool { return l.g.procs.CountSession(key) == 0 })
			l.wait("no notice is on its way", func() bool {
				return !slices.ContainsFunc(l.g.background.Rows(time.Now()), func(r ops.Background) bool { return r.Name == "notice" })
			})
			if l.heard("ended") {
				t.Errorf("the chat heard %q, want no notice", l.chat.messages())
			}
		})
	}
}

// CV14, S6: the home chat hears of a stop while it runs, and that the gateway is back in the next life. What could not be sent
// before the end is not sent after it.
func TestCV14_TheHomeChatHearsThatTheGatewayStopsAndIsBack(t *testing.T) {
	dir := t.TempDir()
	first := start(t, atHome, func(s *setup) { s.dir = dir })
	first.stop(ops.ModeGraceful)
	if !first.heard("7: The gateway is stopping.") {
		t.Errorf("the home chat heard %q, want that the gateway stops", first.chat.messages())
	}
	second := start(t, atHome, func(s *setup) { s.dir = dir })
	second.wait("the home chat hears that the gateway is back", func() bool { return second.heard("7: The gateway is back.") })
	second.stop(ops.ModeGraceful)
	if second.heard("stopping") {
		t.Errorf("a second restart within ten minutes was not silent: %q", second.chat.messages())
	}
}

func TestCV14_ANoticeOfAStopThatWasCutOffIsWithdrawnByTheNextLife(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		return st.PutOutbox(ctx, store.Outbox{ID: "notice:telegram:life:0:stop:now", Session: "telegram:dm:7", Adapter: "telegram", Target: "7", Text: "The gateway is stopping.", At: time.Now(), Tried: true})
	})
	l := start(t, atHome, func(s *setup) { s.dir = dir })
	open, err := l.g.recovery.Store().OpenOutbox(context.Background())
	if err != nil || len(open) > 0 || l.heard("stopping") {
		t.Errorf("the next life has %v (%v) and sent %q, want that the notice is withdrawn", open, err, l.chat.messages())
	}
}

func TestCV14_AfterACrashTheHomeChatHearsHowManyTurnsWereInterrupted(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		now := time.Now()
		if err := st.PutLife(ctx, store.Life{ID: "before", PID: 1 << 22, Outcome: ops.OutcomeRunning, StartedAt: now, HeartbeatAt: now}); err != nil {
			return err
		}
		s := store.Session{Key: "telegram:dm:8", ID: "s8", Platform: "telegram", Target: "8", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
		return st.BeginTurn(ctx, s, store.Turn{ID: "t8", SessionID: "s8", Life: "before", StartedAt: now, State: store.TurnRunning})
	})
	l := start(t, atHome, func(s *setup) { s.dir = dir })
	l.wait("the home chat hears of the crash", func() bool { return l.heard("7: The gateway is back.", "killed", "1 running turn was interrupted") })
}

// CV14, D3: the first message after an expiry is answered by a model that knows nothing of the conversation before; its chat
// hears why, and how to go on with the other one.
func TestCV14_AnExpiredConversationSaysSoWithTheNextMessage(t *testing.T) {
	const key = "chat:dm:1"
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		long := time.Now().Add(-3 * time.Hour)
		s := store.Session{Key: key, ID: "old-one", Platform: "chat", Target: "1", State: ops.SessionIdle, CreatedAt: long, LastActivityAt: long}
		if err := st.BeginTurn(ctx, s, store.Turn{ID: "t", SessionID: s.ID, StartedAt: long}); err != nil {
			return err
		}
		return st.EndTurn(ctx, s, store.Turn{ID: "t", SessionID: s.ID, StartedAt: long, EndedAt: long, State: store.TurnDone}, nil)
	})
	l := start(t, func(s *setup) {
		s.dir = dir
		s.cfg.Session.IdleReset.Duration = time.Hour
	})
	for _, text := range []string{"hello", "again"} {
		l.say(key, "1", text)
		l.wait("an answer", func() bool { return l.heard("you said " + text) })
	}
	said, times := l.chat.messages(), 0
	for _, text := range said {
		if strings.Contains(text, "expired (") {
			times++
		}
	}
	if times != 1 || !strings.Contains(said[0], "expired (idle for 3h") || !strings.Contains(said[0], "/resume old-one") {
		t.Errorf("the chat heard %q, want one line about the expiry before the first answer", said)
	}
}
