package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/soak"
)

// flaky is the built-in provider, whose flushes fail as mode says.
type flaky struct {
	builtin
	mode string
}

func (f *flaky) Flush(ctx context.Context, m Material) error {
	switch f.mode {
	case "fails":
		return errors.New("no answer")
	case "panics":
		panic("boom")
	case "hangs":
		<-ctx.Done()
		return ctx.Err()
	case "saves and fails":
		_ = f.builtin.Flush(ctx, m)
		return errors.New("cut off")
	}
	return f.builtin.Flush(ctx, m)
}

// history is a gateway's memory over any number of lives, and what was said in it.
type history struct {
	rt       *rapid.T
	dir      string
	st       *store.Store
	m        *Memory
	provider *flaky
	lives    int
	said     int
	// current is the id of the conversation of each key, wanted what has to become a note, by its conversation.
	current map[string]string
	wanted  map[string][]string
	keyOf   map[string]string
}

func (h *history) open() {
	h.lives++
	st, err := store.Open(context.Background(), store.Options{Path: h.dir + "/gateway.db", Log: quiet()})
	if err != nil {
		h.rt.Fatal(err)
	}
	h.st = st
	h.provider = &flaky{builtin: builtin{keep: st, find: rule{}}}
	h.m = New(Options{Log: quiet(), Tasks: tasks{}, Life: fmt.Sprint("life-", h.lives)}, "flaky")
	h.m.Open(st)
	h.m.provider = h.provider
}

func (h *history) close() {
	if err := h.st.Close(context.Background()); err != nil {
		h.rt.Fatal(err)
	}
}

// say is a turn in a conversation, with what asks to be remembered or not.
func (h *history) say(key string, remember bool) {
	h.said++
	id := h.current[key]
	if id == "" {
		id = fmt.Sprint("s", h.said)
		h.current[key], h.keyOf[id] = id, key
	}
	text := fmt.Sprint("how are you, number", h.said)
	if remember {
		text = fmt.Sprintf("Remember that token%04d is mine", h.said)
		h.wanted[id] = append(h.wanted[id], fmt.Sprintf("token%04d", h.said))
	}
	at := time.Now()
	v := store.Session{ID: id, Key: key, Platform: "telegram", State: ops.SessionIdle, CreatedAt: at, LastActivityAt: at}
	turn := store.Turn{ID: fmt.Sprint("t", h.said), SessionID: id, Life: "life", StartedAt: at, EndedAt: at, State: store.TurnRunning, Remember: true}
	if err := h.st.BeginTurn(context.Background(), v, turn, store.Message{Role: "user", Who: "x (" + key[strings.LastIndexByte(key, ':')+1:] + ")", Content: text, At: at}); err != nil {
		h.rt.Fatal(err)
	}
	turn.State = store.TurnDone
	if err := h.st.EndTurn(context.Background(), v, turn, []store.Message{{Role: "assistant", Content: "yes", At: at}}); err != nil {
		h.rt.Fatal(err)
	}
}

// flush is the moment that an eviction, an expiry, a reset or a stop gives the provider.
func (h *history) flush(key, mode string) {
	if h.current[key] == "" {
		return
	}
	h.provider.mode = mode
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	if mode == "hangs" {
		cancel()
	}
	defer cancel()
	err := h.m.Flush(ctx, h.current[key])
	if failed := len(h.m.Missed()) > 0; err != nil && !failed {
		h.rt.Fatalf("a flush failed with %v and nothing says so", err)
	}
}

// check is the promise: what was asked to be kept is a note of its owner alone, or its conversation is a row that is tried again.
func (h *history) check(*rapid.T) {
	for id, tokens := range h.wanted {
		_, pending, err := h.st.Unflushed(context.Background(), id)
		if err != nil {
			h.rt.Fatal(err)
		}
		for _, token := range tokens {
			for _, key := range []string{"telegram:dm:1", "telegram:dm:2", "telegram:group:-9:user:1"} {
				found, err := h.m.Find(context.Background(), member(key, ""), token)
				if err != nil {
					h.rt.Fatal(err)
				}
				own := key == h.keyOf[id]
				if !own && len(found) > 0 {
					h.rt.Fatalf("%s reads the note of %s: %v", key, h.keyOf[id], found)
				}
				if own && len(found) == 0 && !pending {
					h.rt.Fatalf("%s of %s is neither a note nor a row", token, key)
				}
				if own && len(found) > 1 {
					h.rt.Fatalf("%s is kept %d times", token, len(found))
				}
			}
		}
	}
}

func TestHR5_WhatWasSaidIsANoteOrARowAfterAnyHistory(t *testing.T) {
	soak.Checks(t, 6, 200) // each history opens a store for each of its lives
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "home")
		if err != nil {
			rt.Fatal(err)
		}
		h := &history{rt: rt, dir: dir, current: map[string]string{}, wanted: map[string][]string{}, keyOf: map[string]string{}}
		h.open()
		key := rapid.SampledFrom([]string{"telegram:dm:1", "telegram:dm:2", "telegram:group:-9:user:1"})
		mode := rapid.SampledFrom([]string{"", "fails", "panics", "hangs", "saves and fails"})
		end := func(key string) {
			if id := h.current[key]; id != "" {
				if err := h.st.EndSession(context.Background(), id, time.Now(), "reset"); err != nil {
					rt.Fatal(err)
				}
				h.current[key] = ""
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":      h.check,
			"say":   func(rt *rapid.T) { h.say(key.Draw(rt, "key"), rapid.Bool().Draw(rt, "remember")) },
			"evict": func(rt *rapid.T) { h.flush(key.Draw(rt, "key"), mode.Draw(rt, "mode")) },
			"reset": func(rt *rapid.T) {
				key := key.Draw(rt, "key")
				h.flush(key, mode.Draw(rt, "mode"))
				end(key)
			},
			"end without a moment": func(rt *rapid.T) { end(key.Draw(rt, "key")) },
			"crash": func(*rapid.T) {
				h.close()
				h.open()
			},
			"retry": func(rt *rapid.T) {
				h.provider.mode = mode.Filter(func(m string) bool { return m != "hangs" }).Draw(rt, "mode")
				h.m.Retry(context.Background(), time.Now())
				h.m.Retry(context.Background(), time.Now().Add(retryFirst))
			},
		})
		// A life in which the provider works keeps all.
		h.close()
		h.open()
		h.m.Retry(context.Background(), time.Now())
		h.m.Retry(context.Background(), time.Now().Add(retryFirst))
		h.check(rt)
		if left, err := h.st.UnflushedOlder(context.Background(), "none", 10); err != nil || len(left) > 0 || len(h.m.Missed()) > 0 {
			rt.Fatalf("a provider that works leaves %v (%v)", left, err)
		}
		h.close()
	})
}

func TestHR5_TheRuleKeepsWhatPeopleAskFor(t *testing.T) {
	for text, want := range map[string]string{
		"Hi. Remember that I take no sugar. Bye!":   "Remember that I take no sugar.",
		"please remember: the door code is on Anna": "please remember: the door code is on Anna",
		"Do you remember the code?":                 "",
		"Remember me?":                              "",
		"rememberable things happen":                "",
		"Merk dir, dass ich Tee mag.":               "Merk dir, dass ich Tee mag.",
		"请记住我喜欢茶。谢谢":                                "请记住我喜欢茶。",
		"お茶が好きなのを覚えておいて":                            "お茶が好きなのを覚えておいて",
		"remember":              "",
		"\xff\xfe remember\xff": "",
	} {
		got, err := rule{}.Extract(t.Context(), Material{Said: []Said{{User: "maria", Text: text}, {Agent: true, Text: "remember that I am an agent"}}}, nil)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("of %q it keeps %q, want %q", text, got, want)
		}
	}
}

func TestHR5_GuestsAndToolsAndWhatWasUndoneAreNoMaterial(t *testing.T) {
	m := New(Options{Log: quiet(), Role: func(_, id string) ops.Role {
		if id == "48" {
			return ops.RoleGuest
		}
		return ops.RoleMember
	}}, Builtin)
	said := func(role, who, text string, undone bool) store.Entry {
		return store.Entry{Undone: undone, Message: store.Message{Role: role, Who: who, Content: text}}
	}
	got := m.material(store.Unflushed{Session: "s", Key: "telegram:group:-1:topic:2"}, []store.Entry{
		said("user", "maria (47)", "kept", false), said("assistant", "", "answer", false), said("tool", "", "output", false),
		said("user", "otto (48)", "of a guest", false), said("assistant", "", "to a guest", false), said("user", "eva (49)", "undone", true),
		said("user", "eva (49)", "kept too", false),
	})
	var texts []string
	for _, s := range got.Said {
		texts = append(texts, s.Text)
	}
	if strings.Join(texts, "|") != "kept|answer|kept too" || got.Owner != "chat telegram:group:-1:topic:2" || strings.Join(got.People, " ") != "telegram:47 telegram:49" {
		t.Errorf("the material is %+v", got)
	}
}
