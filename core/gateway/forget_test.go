package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// from gives the gateway a message of a person on the platform telegram.
func (l *lab) from(key, target, user, text string, chat adapter.ChatKind, mentioned bool) {
	l.t.Helper()
	in := adapter.Inbound{Adapter: "telegram", Session: key, User: user, Sender: "Maria", Target: target, Text: text, Chat: chat, Mentioned: mentioned}
	if _, err := l.g.intake.Receive(context.Background(), in); err != nil {
		l.t.Fatalf("message %q was refused: %v", text, err)
	}
}

// holding are the files below a folder that hold a word.
func holding(t *testing.T, dir, word string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a journal of the index comes and goes
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if strings.Contains(strings.ToLower(string(b)), word) {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// CV13: after forget no file of the home has a word that the person wrote, in any form, while the gateway runs and after it.
func TestCV13_NoFileHasTheWordsOfAForgottenPerson(t *testing.T) {
	const word = "quokkazebra"
	answer := echo(nil)
	l := start(t, func(s *setup) {
		s.chat.name = "telegram"
		s.model = script(func(ctx context.Context, req model.Request) (model.Response, error) { // what an agent says stays in a shared conversation
			r, err := answer(ctx, req)
			if strings.HasPrefix(r.Message.Content, "you said Maria") {
				r.Message.Content = strings.ReplaceAll(r.Message.Content, word, "it")
			}
			return r, err
		})
	})
	const maria, otto = "maria (47)", "otto (48)"
	said := func(text string) func() bool { return func() bool { return l.heard("you said", text) } }
	l.from("telegram:dm:47", "47", maria, word+" in a direct message", adapter.ChatDM, true)
	l.wait("an answer", said("in a direct message"))
	l.from("telegram:dm:47", "47", maria, "/title "+word, adapter.ChatDM, true)
	l.from("telegram:dm:47", "47", maria, "/pin "+word, adapter.ChatDM, true)
	l.wait("a pin", func() bool { return len(l.chat.messages()) >= 3 })
	l.from("telegram:group:-1:topic:7", "-1/7", otto, "before everything", adapter.ChatThread, true)
	l.wait("an answer", said("before everything"))
	l.from("telegram:group:-1:topic:7", "-1/7", maria, word+" in a thread", adapter.ChatThread, true)
	l.wait("an answer", said("in a thread"))
	l.from("telegram:group:-2:user:47", "-2", maria, word+" not for the bot", adapter.ChatGroup, false)
	l.from("telegram:dm:47", "47", maria, "bg: echo "+word+"; sleep 300", adapter.ChatDM, true)
	l.wait("a command in the background", func() bool { return l.g.procs.CountSession("telegram:dm:47") == 1 && l.g.table.Counts().Turns == 0 })
	l.from("telegram:dm:47", "47", maria, "hang", adapter.ChatDM, true)
	l.running("telegram:dm:47")
	l.wait("the index has the words", func() bool {
		found, err := l.g.Search(context.Background(), ops.SearchQuery{Text: word})
		return err == nil && len(found.Items) >= 2
	})
	if names := holding(t, l.dir, word); len(names) == 0 {
		t.Fatal("no file has the word before it is forgotten")
	}

	preview, err := l.g.Preview(context.Background(), ops.Command{Verb: ops.VerbForget, Target: "telegram:47"})
	if err != nil || !preview.EndsWork || len(preview.Interrupt) != 1 || len(preview.Kills) != 1 || !strings.Contains(strings.Join(preview.Loses, "\n"), "messages in shared conversations: 1") {
		t.Errorf("the dry run says %+v (%v), want the turn, the process and the rows", preview, err)
	}
	req := l.do(ops.Command{Verb: ops.VerbForget, Target: "telegram:47"})
	var result ops.ForgetResult
	if err := json.Unmarshal(req.Result, &result); err != nil || req.State != ops.RequestDone {
		t.Fatalf("the deletion ended as %s: %v %s", req.State, req.Error, req.Result)
	}
	if d := result.Deleted; d["messages"] < 4 || d["conversations"] != 1 || d["messages in shared conversations"] != 1 || d["pins"] != 1 || d["commands"] != 1 || d["messages in memory"] == 0 {
		t.Errorf("deleted were %v (%s)", d, req.Detail)
	}
	if n := l.g.procs.CountSession("telegram:dm:47"); n > 0 {
		t.Errorf("%d processes of the person still run", n)
	}
	if names := holding(t, l.dir, word); len(names) > 0 {
		t.Errorf("the word is still in %v while the gateway runs", names)
	}
	if found, err := l.g.Search(context.Background(), ops.SearchQuery{Text: word}); err == nil && len(found.Items) > 0 {
		t.Errorf("a search finds %+v", found.Items)
	}
	if rows := l.audit(); rows[len(rows)-1].Verb != string(ops.VerbForget) || rows[len(rows)-1].Target != "telegram:47" {
		t.Errorf("the audit ends with %+v, want the deletion", rows[len(rows)-1])
	}
	before := len(l.chat.messages())
	l.from("telegram:dm:47", "47", maria, "hello again", adapter.ChatDM, true)
	l.wait("an answer to a message after it", func() bool { return len(l.chat.messages()) > before && l.heard("hello again") })
	l.stop(ops.ModeGraceful)
	if names := holding(t, l.dir, word); len(names) > 0 {
		t.Errorf("the word is still in %v after the stop", names)
	}
}

// CV13: what a crash cut off is completed by the next life, which does nothing for the messages that waited.
func TestCV13_TheNextLifeCompletesADeletion(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		in := store.Inbox{ID: "i1", Session: "telegram:dm:47", Adapter: "telegram", Target: "47", User: "maria (47)", Text: "quokkazebra", At: time.Now().Add(-time.Minute), State: store.InboxWaiting}
		if _, _, err := st.PutInbox(ctx, in); err != nil {
			return err
		}
		s := store.Session{Key: "telegram:dm:47", ID: "s", Platform: "telegram", User: "maria (47)", State: ops.SessionIdle, Title: "quokkazebra", CreatedAt: in.At, LastActivityAt: in.At}
		if err := st.BeginTurn(ctx, s, store.Turn{ID: "t", SessionID: "s", StartedAt: in.At}, store.Message{Role: "user", Who: "maria (47)", Content: "quokkazebra", At: in.At}); err != nil {
			return err
		}
		return st.PutForgetting(ctx, store.Forgetting{Platform: "telegram", ID: "47", At: time.Now()})
	})
	l := start(t, func(s *setup) { s.dir, s.chat.name = dir, "telegram" })
	l.wait("the deletion is complete", func() bool {
		all, err := l.g.recovery.Store().Forgettings(context.Background())
		return err == nil && len(all) == 0
	})
	if names := holding(t, dir, "quokkazebra"); len(names) > 0 || l.heard("quokkazebra") {
		t.Errorf("the word is still in %v, and the chat heard %q", names, l.chat.messages())
	}
}

func TestCV13_OnlyAPersonCanBeForgotten(t *testing.T) {
	l := start(t)
	for _, name := range []string{"telegram", "telegram:", "47", "telegram:4 7", "telegram:%", "Telegram:47"} {
		if _, err := l.g.Do(context.Background(), ops.Command{Verb: ops.VerbForget, Target: name}); !ops.HasCode(err, ops.CodeInvalid) {
			t.Errorf("forget %q was answered with %v, want that it is invalid", name, err)
		}
	}
}

// CV13: in conversations with others a forgotten person's turn ends, and the turns of others go on.
func TestCV13_TheTurnsOfAForgottenPersonEnd(t *testing.T) {
	l := start(t, func(s *setup) {
		s.chat.name = "telegram"
		s.model = script(func(ctx context.Context, _ model.Request) (model.Response, error) {
			<-ctx.Done()
			return model.Response{}, ctx.Err()
		})
	})
	const hers, his = "telegram:group:-1:topic:7", "telegram:group:-1:topic:8"
	l.from(hers, "-1/7", "maria (47)", "one", adapter.ChatThread, true)
	l.from(his, "-1/8", "otto (48)", "two", adapter.ChatThread, true)
	l.running(hers)
	l.running(his)
	if req := l.do(ops.Command{Verb: ops.VerbForget, Target: "telegram:47"}); req.State != ops.RequestDone {
		t.Fatalf("the deletion ended as %s: %v", req.State, req.Error)
	}
	if _, running := l.g.table.Running(hers); running {
		t.Error("the turn of the person still runs")
	}
	if v, running := l.g.table.Running(his); !running || v.Interrupt != nil {
		t.Error("the turn of another person was interrupted")
	}
	if messages, err := l.g.recovery.Store().OpenInbox(context.Background()); err != nil || len(messages) != 1 || messages[0].User != "otto (48)" {
		t.Errorf("without an answer are %+v (%v), want the message of the other person", messages, err)
	}
}
