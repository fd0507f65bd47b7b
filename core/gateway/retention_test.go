package gateway

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/syncbuf"
)

// CV13: by default an ended conversation is kept for ever, and an old long result of a tool is not; the log says what was deleted.
func TestCV13_ConversationsAreKeptAndOldOutputsAreNot(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	old := time.Now().Add(-400 * day)
	s := store.Session{Key: "chat:dm:1", ID: "s1", State: ops.SessionIdle, CreatedAt: old, LastActivityAt: old}
	turn := store.Turn{ID: "t1", SessionID: s.ID, Life: "l", StartedAt: old, EndedAt: old, State: store.TurnRunning}
	err := st.BeginTurn(context.Background(), s, turn, store.Message{Role: "user", Content: "hello", At: old})
	turn.State = store.TurnDone
	err = errors.Join(err, st.EndTurn(context.Background(), s, turn, []store.Message{{Role: "tool", Content: strings.Repeat("secret ", 2000), At: old}}))
	err = errors.Join(err, st.EndSession(context.Background(), s.ID, old, "reset"), st.PutAudit(context.Background(), store.Audit{ID: "r1", At: old}))
	if err := errors.Join(err, st.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	var logged syncbuf.Buffer
	l := start(t, func(s *setup) {
		s.dir, s.log = dir, slog.NewTextHandler(&logged, nil)
		s.opts = func(o *Options) { o.TrustClock = true }
	})
	saved := filepath.Join(dir, "received", "0123", "old.pdf")
	err = errors.Join(os.MkdirAll(filepath.Dir(saved), 0o700), os.WriteFile(saved, []byte("four"), 0o600), os.Chtimes(saved, old, old))
	if err != nil {
		t.Fatal(err)
	}
	l.g.recovery.Prune(t.Context())
	if _, err := os.Stat(saved); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was saved from a chat long ago: %v", err)
	}
	page, err := l.g.Transcript(t.Context(), "s1", ops.MessageQuery{})
	if err != nil || len(page.Items) != 2 || page.Items[0].Text != "hello" || strings.Contains(page.Items[1].Text, "secret") {
		t.Errorf("the conversation has %.200v, %v", page.Items, err)
	}
	for _, want := range []string{"deleted_audit=1", "old results of tools deleted", "count=1", "bytes=14000", "old files of chats deleted", "bytes=4"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %q: %s", want, logged.String())
		}
	}
	if strings.Contains(logged.String(), "secret") {
		t.Error("the log has the text of a result")
	}
}
