package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/store"
	"gatewaytui/fixtures/eventually"
)

// chatted is the session of a chat whose messages wait in the inbox.
const chatted = "harbour:dm:1"

// withStore opens the store of a home that no gateway runs on.
func withStore(t *testing.T, home string, do func(context.Context, *store.Store) error) {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{Path: filepath.Join(home, "gateway.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := do(ctx, st); err != nil {
		t.Error(err)
	}
	if err := st.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// leave puts messages of a chat into the inbox, as a killed life leaves what it had acknowledged.
func leave(t *testing.T, home string, texts ...string) {
	t.Helper()
	withStore(t, home, func(ctx context.Context, st *store.Store) error {
		for _, text := range texts {
			row := store.Inbox{
				ID: ulid.Make().String(), Session: chatted, Adapter: "harbour", Target: "1", User: "maria", Text: text, At: time.Now(), State: store.InboxWaiting,
			}
			if _, _, err := st.PutInbox(ctx, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// turnsOf are the lines of the log that begin and end the turns of a session.
func (g *gateway) turnsOf(key string) (lines []string) {
	for _, l := range g.log() {
		if l.text("session") == key && strings.HasPrefix(l.text("msg"), "turn ") {
			lines = append(lines, l.text("msg"))
		}
	}
	return lines
}

// resumedNothing fails unless a life resumed nothing of what was left: the sender of one message that waited gets a notice.
func resumedNothing(t *testing.T, g *gateway) {
	t.Helper()
	g.await("what was left is reported", func(l line) bool {
		return l.text("msg") == "recovered pending work" && l.number("messages") == 0 && l.number("reported") >= 1
	})
	var s struct {
		Counts struct {
			RunningTurns int `json:"running_turns"`
		}
	}
	if g.socket(http.MethodGet, "/v1/status", nil, &s); s.Counts.RunningTurns != 0 {
		t.Errorf("%d turns run", s.Counts.RunningTurns)
	}
	if turns := g.turnsOf(chatted); len(turns) > 0 {
		t.Errorf("the chat that was left has %q", turns)
	}
}

// B10: --no-resume begins no turn by itself and keeps every transcript.
func TestB10_NoResumeKeepsTranscriptsAndResumesNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick)
	if reply, status := g.chat("a", "echo something to keep"); status != http.StatusOK {
		t.Fatalf("answered %d %q", status, reply)
	}
	g.say("a", "hang")
	g.running("api:user:a", "model call")
	g.signal(syscall.SIGKILL)
	g.exit()
	leave(t, home, "hello")

	next := start(t, home, quick, "--no-resume")
	resumedNothing(t, next)
	if turns := next.turnsOf("api:user:a"); len(turns) > 0 {
		t.Errorf("the session that hung has %q", turns)
	}
	if state := sessionState(t, home, "api:user:a"); state != "idle" { // what was cut off is not gone on with
		t.Errorf("the session that hung is %q, want idle", state)
	}
	if reply, status := next.chat("a", "hello"); status != http.StatusOK {
		t.Errorf("its next message is answered with %d %q", status, reply)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	withStore(t, home, func(ctx context.Context, st *store.Store) error {
		s, found, err := st.CurrentSession(ctx, "api:user:a")
		if err != nil || !found {
			return fmt.Errorf("the session is not there: %w", err)
		}
		messages, err := st.Since(ctx, s.ID, 0)
		var texts []string
		for _, m := range messages {
			texts = append(texts, m.Content)
		}
		all := strings.Join(texts, "\n")
		for _, part := range []string{"echo something to keep", "hang", "hello"} {
			if !strings.Contains(all, part) {
				t.Errorf("the transcript lacks %q:\n%s", part, all)
			}
		}
		return err
	})
}

// B9: after three lives that were killed, each soon after it began, the next resumes nothing, says so, and serves. A
// life that ends well ends the loop.
func TestB9_ThreeKilledLivesBreakTheLoop(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	for range 3 {
		g := start(t, home, quick)
		g.signal(syscall.SIGKILL)
		g.exit()
	}
	leave(t, home, "hello")
	broken := start(t, home, quick, "--demo-platforms", "harbour=good:hello")
	broken.await("the loop is named", func(l line) bool { return l.text("code") == "boot_loop" })
	resumedNothing(t, broken)
	if out, code := broken.verb("status"); code != 0 || !strings.Contains(out, "resumes nothing") {
		t.Errorf("status does not say so: %d %s", code, out)
	}
	if out, code := broken.verb("adapters"); code != 0 || !strings.Contains(out, "connected") {
		t.Errorf("its platforms are not connected: %d %s", code, out)
	}
	if code, _ := broken.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	leave(t, home, "hello")
	next := start(t, home, quick)
	next.await("what waited is resumed", func(l line) bool {
		return l.text("msg") == "recovered pending work" && l.number("messages") == 1
	})
	eventually.True(t, "its turn ends", func() bool { return len(next.turnsOf(chatted)) == 2 })
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// D17: messages that the last life left and messages that come in the moment of the start are worked on one at a time,
// each once.
func TestD17_WhatWasLeftAndWhatComesAreOneTurnAtATime(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	g := start(t, home, quick)
	g.signal(syscall.SIGKILL)
	g.exit()
	const each = 5
	const owned = quick + "[access]\nowners = [\"harbour:maria\"]\n"
	var left []string
	for i := range each {
		left = append(left, fmt.Sprintf("sh: echo left-%d >>order; sleep 0.1", i))
	}
	leave(t, home, left...)

	next := spawn(t, home, owned)
	for i := range each {
		send := exec.Command("bash", "-c", `until "$@" >/dev/null 2>&1; do sleep 0.01; done`, "bash", // the socket may not be there yet
			binary, "send", "--no-wait", "--home", home, "--session", chatted, fmt.Sprintf("sh: echo came-%d >>order; sleep 0.1", i))
		if err := send.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = send.Process.Kill(); _ = send.Wait() })
	}
	eventually.True(t, "every message had its turn", func() bool {
		return strings.Count(strings.Join(next.turnsOf(chatted), ","), "turn ended") == 2*each
	})
	for i, line := range next.turnsOf(chatted) {
		if want := []string{"turn started", "turn ended"}[i%2]; line != want {
			t.Fatalf("two turns of one session at a time: %q", next.turnsOf(chatted))
		}
	}
	order, err := shell(filepath.Join(home, "work"), "sort order | uniq -c | awk '$1 != 1'; wc -l <order")
	if err != nil || strings.TrimSpace(order) != fmt.Sprint(2*each) {
		t.Errorf("the messages were worked on as %q, %v; want each of %d once", order, err, 2*each)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
