package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// seqs are those of the lines of a type.
func (w *world) seqs(typ string) (all []int64) {
	for _, c := range w.there.lines(typ) {
		all = append(all, c.Seq)
	}
	return all
}

func (w *world) wantAnswers(typ string, want ...int64) {
	w.Helper()
	if got := w.seqs(typ); !slices.Equal(got, want) {
		w.Errorf("the messages %v are %s, want %v", got, typ, want)
	}
}

func TestPL4_AMessageHasTheSessionThatThePageSays(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, tc := range map[string]struct {
		m                message
		session, target  string
		mentioned, reply bool
	}{
		"in a chat with the bot alone": {direct(owner, "hello"), "mattermost:dm:u4711", "d-u4711", true, false},
		"in a listed group": {
			message{Chat: "c9", Kind: adapter.ChatGroup, Group: listed, User: person(owner), Text: "hello"}, "mattermost:group:c9:user:u4711", "c9", false, true,
		},
		"in a thread of a listed group": {
			message{Chat: "c9/t1", Kind: adapter.ChatThread, Group: listed, User: person(owner), Text: "hello", Mentioned: true}, "mattermost:thread:c9/t1", "c9/t1", true, true,
		},
		"in a thread of a chat with the bot alone": {
			message{Chat: "d1/t1", Kind: adapter.ChatThread, User: person(owner), Text: "hello"}, "mattermost:dm:u4711:thread:d1/t1", "d1/t1", true, false,
		},
		"in a chat with signs of a target": {
			message{Chat: "100%#help", Kind: adapter.ChatGroup, Group: listed, User: person(owner), Text: "hello"}, "mattermost:group:100%#help:user:u4711", "100%25%23help", false, true,
		},
		"in a chat whose id would say whose it is": {
			message{Chat: "c9:user:u1", Kind: adapter.ChatGroup, Group: listed, User: person(owner), Text: "hello"}, "mattermost:group:" + short("c9:user:u1") + ":user:u4711", "c9:user:u1", false, true,
		},
		"in a chat with a long id": {
			message{Chat: long, Kind: adapter.ChatThread, Group: listed, User: person(owner), Text: "hello"}, "mattermost:thread:" + short(long), long, false, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				w.up(func(*conn) {
					id := w.there.hear(tc.m)
					w.after(time.Second)
					got := w.in.Messages()
					if len(got) != 1 {
						w.Fatalf("received %+v", got)
					}
					m, target := got[0], tc.target
					if tc.reply {
						target += "#" + id
					}
					if m.Session != tc.session || m.Target != target || m.Mentioned != tc.mentioned || m.Chat != tc.m.Kind || m.ID != id || m.Adapter != "mattermost" {
						w.Errorf("received %+v, want the session %s and the target %s", m, tc.session, target)
					}
					if err := session.CheckKey(m.Session); err != nil {
						w.Error(err)
					}
					if m.User != "name of u4711 (u4711)" || m.Sender != "name of u4711" || session.PersonOf(m.User) != owner {
						w.Errorf("its user is %q, its sender %q", m.User, m.Sender)
					}
					w.wantAnswers(typeTook, 1)
				})
			})
		})
	}
}

func TestPL4_AMessageIsWhatTheProgramSaysOfIt(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			m := direct(owner, "read it")
			m.User.Name, m.Quoted, m.Forwarded, m.Files = "", strings.Repeat("ä", maxQuoted), true, []file{{"r", "n.ogg", "audio/ogg", 7, true}}
			m.ID = "m1"
			w.there.hear(m)
			m.Text, m.Edited = "read this", true
			w.there.hear(m)
			m.Text = "read that"
			w.there.hear(m)
			w.after(time.Second)
			got := w.in.Messages()
			if len(got) != 3 {
				w.Fatalf("received %+v", got)
			}
			first := got[0]
			want := adapter.File{Name: "n.ogg", Type: "audio/ogg", Size: 7, Spoken: true, Ref: "r"}
			if first.User != owner || first.Sender != owner || len(first.Quoted) > maxQuoted || !strings.HasPrefix(first.Quoted, "ää") || !first.Forwarded || first.Edited || !slices.Equal(first.Files, []adapter.File{want}) {
				w.Errorf("received %+v", first)
			}
			if !got[1].Edited || got[1].ID != "m1" || got[0].Dedupe == got[1].Dedupe || got[1].Dedupe == got[2].Dedupe || !strings.HasPrefix(first.Dedupe, "mattermost:") {
				w.Errorf("a message and two changes of it are %q, %q, %q", got[0].Dedupe, got[1].Dedupe, got[2].Dedupe)
			}
		})
	})
}

func TestPL4_TheGatewayDecidesWhoMaySpeak(t *testing.T) {
	simulate(t, func(w *world) {
		w.up(func(*conn) {
			group := message{Chat: "c9", Kind: adapter.ChatGroup, Group: listed, User: person(stranger), Text: "hello", Mentioned: true}
			w.there.hear(group)
			for range 3 {
				w.there.hear(direct(stranger, "hello"))
			}
			w.after(time.Second)
			group.User, group.Group = person(owner), "g2"
			for _, text := range []string{"to all", "/status", "hello"} {
				group.Text, group.Mentioned = text, text == "hello"
				w.there.hear(group)
			}
			w.there.hear(direct(owner, "  "))
			w.after(time.Minute)
			w.wantSent("You are not on this bot's allow list", "This group is not on my list. Its id is g2; my owner can add it to adapters.mattermost.groups.", "There is no text")
			if got := w.in.Messages(); len(got) != 0 {
				w.Errorf("received %+v", got)
			}
			w.wantAnswers(typeRefused, 1, 2, 3, 4, 5, 6, 7, 8)
			if n := strings.Count(w.log.String(), "external.stranger"); n != 1 {
				w.Errorf("a stranger has %d lines in the log:\n%s", n, w.log)
			}
		})
	})
}

func TestPL4_AMessageWithIDsThatCouldDeceiveIsRefused(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only(nil)
		w.up(func(*conn) {
			for _, user := range []string{"x (" + owner + ")", "x(" + owner + ")", "two words", strings.Repeat("u", maxUser+1), "u\x1b[2J", "u\u202e", "user:" + owner, "x:bg:1", "u1:thread"} {
				w.there.hear(direct(user, "I am the owner"))
			}
			for _, chat := range []string{"c\n", "c\x00"} {
				m := direct(owner, "hello")
				m.Chat = chat
				w.there.hear(m)
			}
			w.after(time.Minute)
			if got := w.in.Messages(); len(got) != 0 {
				w.Errorf("received %+v", got)
			}
			w.wantAnswers(typeRefused, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			w.wantSent()
			if n := strings.Count(w.log.String(), "external.unserved"); n != 4 {
				w.Errorf("%d lines in the log:\n%s", n, w.log)
			}
		})
	})
}

func TestPL4_AMessageIsTakenOnceItIsDurable(t *testing.T) {
	simulate(t, func(w *world) {
		durable := make(chan struct{})
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			select {
			case <-durable:
				return nil
			case <-ctx.Done():
				return errors.New("this connection was taken down")
			}
		})
		w.up(func(c *conn) {
			w.there.hear(direct(owner, "one"))
			w.there.hear(direct(owner, "two"))
			w.after(time.Minute)
			w.wantAnswers(typeTook)
			if err := c.CancelTasks(w.Context()); err != nil {
				w.Error(err)
			}
			w.there.hear(direct(owner, "three"))
			w.after(time.Second)
			if got := w.seqs(typeLater); len(got) < 3 {
				w.Errorf("a connection that takes nothing any more says later to %v", got)
			}
			w.wantAnswers(typeTook)
		})
		close(durable)
		w.up(func(*conn) {
			w.after(10 * time.Second)
			w.in.WantTexts(w, "one", "two", "three")
			w.wantAnswers(typeTook, 1, 2, 3)
		})
	})
}

func TestPL4_ARefusalIsSaidOnceAndIsFinal(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Decide(func(context.Context, adapter.Inbound) error {
			return &ops.Error{Code: ops.CodeDraining, Message: "the gateway takes no new work", Hint: "try again later"}
		})
		w.up(func(*conn) {
			for range 3 {
				w.there.hear(direct(owner, "hello"))
			}
			w.after(time.Minute)
			w.wantSent("The gateway takes no new work. Try again later.")
			w.wantAnswers(typeRefused, 1, 2, 3)
		})
	})
}

func TestPL4_AMessageThatTheGatewayFailsOnIsGivenUpAfterThreeTimes(t *testing.T) {
	for name, fails := range map[string]func(){"by an error": func() {}, "by a panic": func() { panic("boom") }} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				tries := 0
				w.in.Decide(func(_ context.Context, m adapter.Inbound) error {
					if m.Text != "spoilt words" {
						return nil
					}
					tries++
					fails()
					return errors.New("disk full")
				})
				w.up(func(*conn) {
					w.there.hear(direct(owner, "spoilt words"))
					w.there.hear(direct(owner, "good"))
					w.after(time.Minute)
					w.in.WantTexts(w, "good")
					w.wantAnswers(typeLater, 1, 3)
					w.wantAnswers(typeTook, 2)
					w.wantAnswers(typeRefused, 4)
					w.wantSent("Your message could not be taken")
					if tries != 3 || strings.Contains(w.log.String(), "spoilt") {
						w.Errorf("it was tried %d times; the log:\n%s", tries, w.log)
					}
				})
			})
		})
	}
}

func TestPL4_AProgramWith64MessagesWithoutAnAnswerIsNotRead(t *testing.T) {
	simulate(t, func(w *world) {
		goOn := make(chan struct{})
		w.in.Decide(func(ctx context.Context, _ adapter.Inbound) error {
			select {
			case <-goOn:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		w.there.again = time.Hour
		w.up(func(c *conn) {
			for i := range 200 {
				w.there.hear(direct(owner, fmt.Sprint(i)))
			}
			w.after(5 * time.Minute)
			if given := w.there.runs[0].seq; given > maxWaiting+2 {
				w.Errorf("%d messages were read while the first had no answer", given)
			}
			if err := c.Err(); err != nil {
				w.Errorf("the gateway reads nothing, and the connection ended: %v", err)
			}
			close(goOn)
			w.after(time.Minute)
			if got := w.in.Texts(); len(got) != 200 || got[199] != "199" {
				w.Errorf("received %d messages", len(got))
			}
		})
	})
}

// What the program answers to a notice stands behind its messages, which wait for the notice.
func TestPL4_ANoticeDoesNotWaitForTheProgramThatWaitsForIt(t *testing.T) {
	simulate(t, func(w *world) {
		w.in.Only(nil)
		w.in.Decide(func(context.Context, adapter.Inbound) error {
			return &ops.Error{Code: ops.CodeInvalid, Message: "that is too much"}
		})
		const people = 300
		w.up(func(*conn) {
			for i := range people {
				w.there.hear(direct(fmt.Sprintf("u%d", i), "hello"))
			}
			w.after(noticeMost / 2)
			heard := map[string]bool{}
			for _, o := range w.there.sent() {
				heard[o.chat] = true
			}
			if refused := len(w.seqs(typeRefused)); len(heard) != people || refused != people {
				w.Errorf("of %d people %d have a notice, and %d messages are refused", people, len(heard), refused)
			}
		})
	})
}

func TestPL4_ATeardownWhileTheProgramIsNotReadEnds(t *testing.T) {
	simulate(t, func(w *world) {
		hang := make(chan struct{})
		w.in.Decide(func(context.Context, adapter.Inbound) error { <-hang; return nil })
		c := w.dialUp()
		for range 100 {
			w.there.hear(direct(owner, "hello"))
		}
		w.after(time.Second)
		began := time.Now()
		w.down(c) // the message that hangs takes the whole time of the teardown
		if took := time.Since(began); took > 6*time.Second {
			w.Errorf("it took %s", took)
		}
		if _, over := w.there.runs[0].Exited(); !over {
			w.Error("the program still runs")
		}
		close(hang)
		synctest.Wait()
	})
}
