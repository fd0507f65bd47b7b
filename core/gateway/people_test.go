package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// house is a gateway whose people the config names one by one, on Telegram: 1 is its owner, 47 a member. Its model is steps, but
// for a guest's words: those ask for a command at once.
type house struct {
	*lab
	next  chan struct{}
	waits chan string

	mu   sync.Mutex
	seen []model.Request
}

func newHouse(t *testing.T, change ...func(*setup)) *house {
	t.Helper()
	h := &house{next: make(chan struct{}), waits: make(chan string)}
	work := steps(h.next, h.waits)
	h.lab = start(t, append([]func(*setup){func(s *setup) {
		s.chat.name, s.closed = "telegram", true
		s.cfg.Adapters.Telegram.Allow, s.cfg.Access.Owners = []int64{47}, []string{"telegram:1"}
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) {
			h.mu.Lock()
			h.seen = append(h.seen, req)
			h.mu.Unlock()
			text, answered := lastUser(req)
			if command, is := strings.CutPrefix(text, "sh: "); is && !answered {
				return callsTool("terminal", arguments(map[string]any{"command": command})), nil
			} else if is {
				return says("ran: " + req.Messages[len(req.Messages)-1].Content), nil
			}
			return work(ctx, req)
		})
	}}, change...)...)
	return h
}

// says gives the gateway a message of a person.
func (h *house) says(session, id, text string) {
	h.t.Helper()
	in := adapter.Inbound{Adapter: "telegram", Session: session, User: "eve (" + id + ")", Sender: "P" + id, Target: id, Text: text}
	if strings.Contains(session, ":group:") {
		in.Chat, in.Mentioned, in.Target = adapter.ChatThread, true, "-5"
	}
	if _, err := h.g.intake.Receive(h.t.Context(), in); err != nil {
		h.t.Fatalf("%q of %s was refused: %v", text, id, err)
	}
}

// gets waits for a message to a chat with these words.
func (h *house) gets(target, words string) {
	h.t.Helper()
	h.wait("the chat "+target+" gets "+words, func() bool {
		return slices.ContainsFunc(h.chat.messages(), func(m string) bool { return strings.HasPrefix(m, target+": ") && strings.Contains(m, words) })
	})
}

// becomes gives a person a role.
func (h *house) becomes(id string, role ops.Role) {
	h.t.Helper()
	if _, err := h.g.trust.people.Add(h.t.Context(), "telegram:"+id, role, "the test"); err != nil {
		h.t.Fatal(err)
	}
}

// offered are the tools that the model was offered for a request with this text, as often as it was asked.
func (h *house) offered(text string) (n []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, req := range h.seen {
		if said := userTexts(req); len(said) > 0 && strings.Contains(said[len(said)-1], text) {
			n = append(n, len(req.Tools))
		}
	}
	return n
}

func (h *house) wantOffered(text string, tools bool) {
	h.t.Helper()
	all := h.offered(text)
	if len(all) == 0 || slices.ContainsFunc(all, func(n int) bool { return (n > 0) != tools }) {
		h.t.Errorf("with %q the model was offered %v tools, want any: %v", text, all, tools)
	}
}

func TestTR1_AGuestGetsNoToolsInAnyWay(t *testing.T) {
	t.Run("a guest's turn has none", func(t *testing.T) {
		h := newHouse(t)
		h.becomes("8", ops.RoleGuest)
		h.says("telegram:dm:8", "8", "sh: echo reached")
		h.gets("8", "no tools are available")
		h.wantOffered("sh: echo reached", false)
		for _, command := range []string{"/background sh: echo reached", "/retry", "/model", "/people", "/reset", "/start"} {
			h.says("telegram:dm:8", "8", command)
			name, _, _ := strings.Cut(command, " ")
			h.gets("8", name+" is for ")
		}
		h.says("telegram:dm:8", "8", "/whoami")
		h.gets("8", "Your role: guest")
		h.becomes("8", ops.RoleMember) // the same session and agent, from the next message on
		h.says("telegram:dm:8", "8", "sh: echo as a member")
		h.gets("8", `"output":"as a member`)
		h.wantOffered("sh: echo as a member", true)
	})
	t.Run("a turn with tools reads nothing of a guest", func(t *testing.T) {
		h := newHouse(t)
		h.becomes("8", ops.RoleGuest)
		const key = "telegram:group:-5:topic:1"
		h.says(key, "47", "hello") // a thread is shared
		h.gets("-5", "heard P47 says: hello")
		h.says(key, "8", "sh: evil")
		if _, err := h.g.intake.Receive(t.Context(), adapter.Inbound{ // not for the bot
			Adapter: "telegram", Session: key, User: "eve (8)", Sender: "P8", Target: "-5", Text: "evil words", Chat: adapter.ChatThread,
		}); err != nil {
			t.Fatal(err)
		}
		h.gets("-5", "evil")
		h.says(key, "47", "hello again")
		h.gets("-5", "hello again")
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, req := range h.seen {
			if evil := strings.Contains(fmt.Sprint(req.Messages), "evil"); evil == (len(req.Tools) > 0) {
				t.Errorf("the model is offered %d tools, and reads %v", len(req.Tools), req.Messages)
			}
		}
	})
	t.Run("who is a guest by now is not read by the turn that runs", func(t *testing.T) {
		h := newHouse(t)
		h.becomes("9", ops.RoleMember)
		h.says("telegram:dm:9", "9", "work")
		<-h.waits
		h.becomes("9", ops.RoleGuest)
		h.says("telegram:dm:9", "9", "sh: echo reached")
		h.next <- struct{}{}
		if got := <-h.waits; got != "work" {
			t.Errorf("the turn with tools reads %q", got)
		}
		close(h.next)
		h.gets("9", "no tools are available")
		h.wantOffered("sh: echo reached", false)
	})
	t.Run("who lost the role while the message waited has none", func(t *testing.T) {
		h := newHouse(t, func(s *setup) { s.cfg.Limits.Turns = 1 })
		h.says("telegram:dm:47", "47", "work")
		<-h.waits
		h.becomes("9", ops.RoleMember)
		h.becomes("10", ops.RoleMember)
		h.says("telegram:dm:9", "9", "sh: echo reached")
		h.says("telegram:dm:10", "10", "sh: echo removed")
		h.becomes("9", ops.RoleGuest)
		if _, err := h.g.trust.people.Remove(t.Context(), "telegram:10", "the test"); err != nil {
			t.Fatal(err)
		}
		close(h.next)
		h.gets("9", "no tools are available")
		h.gets("10", "You may not speak to this gateway any more.")
		if n := h.offered("sh: echo removed"); len(n) != 0 {
			t.Errorf("the model was asked %d times for a removed person", len(n))
		}
	})
	t.Run("a program that is a guest has none", func(t *testing.T) {
		h := newHouse(t, func(s *setup) { s.cfg.Adapters.API.Role = config.RoleGuest })
		r := make(responder, 1)
		if _, err := h.g.intake.Receive(t.Context(), adapter.Inbound{Adapter: access.API, Session: "api:user:a", Text: "sh: echo reached", Responder: r}); err != nil {
			t.Fatal(err)
		}
		if got := h.await(r); got.err != nil || !strings.Contains(got.text, "no tools are available") {
			t.Errorf("the program gets %+v", got)
		}
	})
}

func TestTR1_OnlyPeopleWithARoleAreHeard(t *testing.T) {
	h := newHouse(t)
	h.says("telegram:dm:5", "5", "sh: echo unknown")
	h.says("telegram:dm:47", "47", "sh: echo a member")
	h.gets("47", `"output":"a member`)
	if n := h.offered("unknown"); len(n) != 0 {
		t.Error("the model was asked for an unknown user")
	}
	rec := receiver{h.g.intake, h.g}
	for id, role := range map[string]bool{"1": true, "47": true, "5": false} {
		if u := (adapter.User{Platform: "telegram", ID: id}); rec.Admits(u) != role || rec.Greets(u) == role {
			t.Errorf("%s is admitted: %v", id, rec.Admits(u))
		}
	}
}

func TestTR2_AnOwnerLetsInByChatAndARemovalEndsTheTurn(t *testing.T) {
	h := newHouse(t, func(s *setup) { s.cfg.Access.Strangers = config.StrangersPair })
	rec := receiver{h.g.intake, h.g}
	text, err := rec.Greet(t.Context(), adapter.User{Platform: "telegram", ID: "8", Name: "Eve"})
	at := strings.Index(text, "hour: ")
	if err != nil || at < 0 {
		t.Fatalf("an unknown user hears %q (%v)", text, err)
	}
	code := text[at+len("hour: "):][:8]
	if page, err := h.g.Inbox(t.Context(), ops.Query{}); err != nil || len(page.Items) != 1 || page.Items[0].Kind != ops.InboxPairing || strings.Contains(fmt.Sprint(page), code) {
		t.Errorf("the inbox is %+v (%v)", page, err)
	}
	h.says("telegram:dm:47", "47", "/people approve "+code)
	h.gets("47", "/people is for owners")
	h.says("telegram:dm:1", "1", "/people approve "+strings.ToLower(code)+" member")
	h.gets("1", "Telegram:8 (Eve) is member from the next message on.")
	h.says("telegram:dm:1", "1", "/people")
	h.gets("1", "telegram:8: member, by pairing Eve")
	h.says("telegram:dm:8", "8", "work")
	<-h.waits
	h.says("telegram:dm:1", "1", "/people remove telegram:8")
	h.gets("1", "Telegram:8 may not speak to this gateway any more.")
	h.wait("the turn of the removed person ends", func() bool { _, running := h.g.table.Running("telegram:dm:8"); return !running })
	h.says("telegram:dm:8", "8", "are you there?")
	if n := h.offered("are you there?"); len(n) != 0 || rec.Greets(adapter.User{Platform: "telegram", ID: "8"}) {
		t.Error("a removed person is answered")
	}
	for _, wrong := range []string{"approve", "role telegram:8", "add telegram:8 admin", "invite telegram:8"} {
		h.says("telegram:dm:1", "1", "/people "+wrong)
	}
	h.gets("1", "There is no role \"admin\".")
	rows := h.audit()
	for _, want := range []string{"people.approve done", "people.remove done"} {
		if !slices.ContainsFunc(rows, func(r string) bool { return strings.HasPrefix(r, want) && strings.Contains(r, "telegram:1") }) {
			t.Errorf("the audit lacks %q by the owner: %q", want, rows)
		}
	}
	if strings.Contains(strings.Join(rows, "\n"), code) {
		t.Error("the audit has the code")
	}
}

func TestTR1_ARouteCanBeForARole(t *testing.T) {
	h := newHouse(t, func(s *setup) {
		s.cfg.Routes = []*config.Route{{Match: "*", Role: config.RoleGuest, Agent: config.DefaultName, Chat: config.Chat{Progress: config.ProgressFull}}}
	})
	h.becomes("8", ops.RoleGuest)
	for id, want := range map[string]string{"8": "Route: *; progress = full", "47": "no route matches"} {
		h.says("telegram:dm:"+id, id, "/whoami")
		h.gets(id, want)
	}
}

// audit is the rows of the audit: verb, state, who and detail.
func (h *house) audit() (rows []string) {
	h.t.Helper()
	db := second(h.t, h.dir)
	defer db.Close()
	found, err := db.Query(`SELECT verb || ' ' || state || ' ' || user || ' ' || target || ' ' || detail FROM audit`)
	if err != nil {
		h.t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			h.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}
