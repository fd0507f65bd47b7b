package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// house is what a test gives an Intake in addition to its world: an inbox, sessions, chat commands and the gateway's state.
type house struct {
	inbox    []store.Inbox
	dropped  []string
	known    map[string]string // by dedupe: the id of the first delivery
	writeErr error
	// wrote runs after each write into the inbox: what happens while it takes its time.
	wrote    func()
	closed   error
	damaged  bool
	begun    []string // texts of turns
	commands []string
	gathered []string
	refused  int
	deaf     bool // running turns read nothing
}

func (h *house) PutInbox(_ context.Context, v store.Inbox) (string, bool, error) {
	if h.writeErr != nil {
		return "", false, h.writeErr
	}
	if id, again := h.known[v.Dedupe]; again {
		return id, false, nil
	}
	h.inbox = append(h.inbox, v)
	if h.wrote != nil {
		h.wrote()
	}
	return v.ID, true, nil
}

func (h *house) DropInbox(_ context.Context, id string) error {
	h.dropped = append(h.dropped, id)
	return nil
}

func (h *house) Answer(_ context.Context, id string, _ *store.Outbox) error {
	h.dropped = append(h.dropped, id)
	return nil
}

func (h *house) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}
func (h *house) Context() context.Context                  { return context.Background() }
func (h *house) Admit() error                              { return h.closed }
func (h *house) Damaged() bool                             { return h.damaged }
func (h *house) Load(context.Context, string) error        { return nil }
func (h *house) ExpireFirst(context.Context, string) error { return nil }
func (h *house) Begin(t *session.Turn)                     { h.begun = append(h.begun, t.Message.Text) }

func (h *house) Knows(name string) bool {
	return slices.Contains([]string{"new", "status", "stop", "background"}, name)
}
func (h *house) Gathered(key string) { h.gathered = append(h.gathered, key) }

func (h *house) TakeAnswer(context.Context, string, session.Message) (bool, error) { return false, nil }

func (h *house) IsWork(name string) bool { return name == "background" }

func (h *house) Interrupt(context.Context, string, string, error) (string, error) { return "", nil }

func (h *house) Steerable(string) bool { return !h.deaf }

func (h *house) RunCommand(_ context.Context, name, arg, _ string, _ session.Message) {
	h.commands = append(h.commands, strings.TrimSpace(name+" "+arg))
}

func (h *house) Emit(t ops.EventType, _, _ string, _ ops.Payload) {
	if t == ops.EventMessageRefused {
		h.refused++
	}
}

func TestAMessageOfAChatIsInTheInboxBeforeAnythingIsDoneForIt(t *testing.T) {
	stopping := &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping"}
	for name, tt := range map[string]struct {
		text    string
		change  func(h *house)
		code    ops.Code // of the refusal; empty: it is taken
		state   store.InboxState
		written string // the text in the inbox; empty: nothing is written
		dropped bool
		turn    string
		command string
	}{
		"a message waits for its turn":                 {text: "hello", state: store.InboxWaiting, written: "hello", turn: "hello"},
		"what /queue lets wait is written without it":  {text: "/queue /queue hello", state: store.InboxWaiting, written: "hello", turn: "hello"},
		"a command with work is open until its answer": {text: "/background do it", state: store.InboxRunning, written: "/background do it", command: "background do it"},
		"a command is done once or not at all":         {text: "/new", state: store.InboxAnswered, written: "/new", command: "new"},
		"a stop refuses a message and writes nothing":  {text: "hello", change: func(h *house) { h.closed = stopping }, code: ops.CodeStopping},
		"a stop answers commands":                      {text: "/status", change: func(h *house) { h.closed = stopping }, state: store.InboxAnswered, written: "/status", command: "status"},
		"a stop that begins during the write refuses it and forgets it": {
			text: "hello", change: func(h *house) { h.wrote = func() { h.closed = stopping } },
			code: ops.CodeStopping, state: store.InboxWaiting, written: "hello", dropped: true,
		},
		"an empty message is refused and forgotten":  {text: " ", code: ops.CodeInvalid, state: store.InboxWaiting, written: " ", dropped: true},
		"a message that is not saved is not taken":   {text: "hello", change: func(h *house) { h.writeErr = errors.New("disk full") }, code: ops.CodeUnavailable},
		"a message that came before is not repeated": {text: "hello", change: func(h *house) { h.known["d"] = "first" }},
		"a damaged database keeps no command, and it is answered": {
			text: "/status", change: func(h *house) { h.damaged, h.closed = true, stopping }, command: "status",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := newWorld(), &house{known: map[string]string{}}
			log := slog.New(slog.DiscardHandler)
			i := NewIntake(IntakeOptions{
				Table: session.NewTable(session.Options{Bounds: session.Bounds{QueueLimit: 3}, NewID: w.newID}), Gateway: h, Conversations: h, People: everyone{},
				Outbox: w.outbox(t), Events: h, Tasks: w, Meter: w, Log: log, NewID: w.newID,
			})
			i.Open(h)
			if tt.change != nil {
				tt.change(h)
			}
			_, err := i.Receive(t.Context(), adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", Target: "1", Text: tt.text, Dedupe: "d"})
			if tt.code == "" && err != nil || tt.code != "" && !ops.HasCode(err, tt.code) {
				t.Errorf("answered %v, want code %q", err, tt.code)
			}
			var written string
			var state store.InboxState
			for _, row := range h.inbox {
				written, state = row.Text, row.State
			}
			if written != tt.written || state != tt.state || (len(h.dropped) == 1) != tt.dropped {
				t.Errorf("the inbox has %q in state %q, dropped %v; want %q, %q, %v", written, state, h.dropped, tt.written, tt.state, tt.dropped)
			}
			if got := slices.Concat(h.begun, []string{""})[0]; got != tt.turn {
				t.Errorf("began a turn for %q, want %q", got, tt.turn)
			}
			if got := slices.Concat(h.commands, []string{""})[0]; got != tt.command {
				t.Errorf("ran the command %q, want %q", got, tt.command)
			}
			if (h.refused > 0) != (tt.code == ops.CodeStopping) {
				t.Errorf("%d events of refusal for code %q", h.refused, tt.code)
			}
		})
	}
}
