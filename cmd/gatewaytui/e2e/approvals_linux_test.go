package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

// hidden are six ways to remove the folder that %[1]s names.
var hidden = []string{
	`rm -rf %[1]s`,
	`bash -c 'cd /; rm -rf %[1]s'`,
	`echo %[1]s | xargs rm -rf`,
	`find %[1]s -depth -exec rm -rf {} +`,
	`$(printf 'r%%s' m) -rf %[1]s`,
	"sh <<'END'\nalias x='rm -rf'; eval \"x %[1]s\"; rm -rf %[1]s\nEND",
}

// asker is a gateway in local, whose only chat is that of an owner, with a model that runs what the chat says.
type asker struct {
	*gateway
	bot            *botapitest.Server
	config, victim string
}

func newAsker(t *testing.T) *asker { return newAskerIn(t, "local", "") }

// newAskerIn is newAsker in another environment. more is added to the config.
func newAskerIn(t *testing.T, environment, more string) *asker {
	t.Helper()
	const token = "1:secret"
	k := &asker{bot: botapitest.New(token), victim: filepath.Join(t.TempDir(), "victim")}
	t.Cleanup(k.bot.Close)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	k.config = quick + fmt.Sprintf(`
[agent]
environment = %q
approvals = "fence"
[access]
owners = ["telegram:7"]
[adapters.telegram]
enabled = true
token_env = ""
token_file = %q
base_url = %q
allow = [7, 8]
`, environment, tokenFile, k.bot.URL) + more
	k.renew()
	k.gateway = start(t, newHome(t), k.config)
	return k
}

// renew makes the folder that commands want to remove.
func (k *asker) renew() {
	if err := os.MkdirAll(filepath.Join(k.victim, "precious"), 0o700); err != nil {
		panic(err)
	}
}

func (k *asker) exists() bool {
	_, err := os.Stat(k.victim)
	return err == nil
}

// inbox are the requests, those that wait first.
func (k *asker) inbox() []ops.InboxItem {
	var page ops.Page[ops.InboxItem]
	k.socket("GET", "/v1/inbox", nil, &page)
	return page.Items
}

// asks says a command in the owner's chat, and returns its request.
func (k *asker) asks(command string) (item ops.InboxItem) {
	k.t.Helper()
	return k.asksFor(command, strings.ReplaceAll(command, "\n", "⏎"))
}

// asksFor says a command in the owner's chat, and returns its request for something.
func (k *asker) asksFor(command, something string) (item ops.InboxItem) {
	k.t.Helper()
	k.bot.Inject(botapitest.Update{User: 7, Text: "sh: " + command})
	eventually.True(k.t, "a request for "+something, func() bool {
		all := k.inbox()
		if len(all) > 0 && all[0].State == ops.InboxWaiting && all[0].Command == something {
			item = all[0]
		}
		return item.ID != ""
	})
	eventually.True(k.t, "its card", func() bool { return k.card(item.ID) != "" })
	return item
}

// card is what the chat reads of a request.
func (k *asker) card(id string) (text string) {
	for _, m := range k.bot.Sent() {
		if strings.Contains(m.Text, "("+id+")") {
			text = m.Text
		}
	}
	return text
}

func TestTR3_WhatRemovesAFolderIsAskedHoweverItIsHidden(t *testing.T) {
	k := newAsker(t)
	for _, form := range hidden {
		command := fmt.Sprintf(form, k.victim)
		item := k.asks(command)
		if text := k.card(item.ID); !strings.Contains(text, command) {
			t.Errorf("%q: the card is %q", command, text)
		}
		if !k.exists() {
			t.Fatalf("%q ran before its answer", command)
		}
		if row := k.session("telegram:dm:7"); row.State != ops.SessionWaitingApproval || row.WaitingFor != "approval "+item.ID {
			t.Errorf("the session is %s, for %q", row.State, row.WaitingFor)
		}
		if !k.bot.Press(7, 7, "Deny") {
			t.Fatalf("%q: there is no button", command)
		}
		eventually.True(t, "the card says so", func() bool { return strings.Contains(k.card(item.ID), "Denied") })
		eventually.True(t, "the turn ends", func() bool { return k.session("telegram:dm:7").State == ops.SessionIdle })
		if !k.exists() {
			t.Fatalf("%q ran though it was denied", command)
		}
	}
	item := k.asks(fmt.Sprintf(hidden[0], k.victim))
	k.bot.Inject(botapitest.Update{User: 8, Text: "/approve " + item.ID})
	eventually.True(t, "another person is refused", func() bool { return k.said("only an owner") })
	if !k.bot.Press(7, 7, "Allow once") {
		t.Fatal("there is no button")
	}
	pressed := time.Now()
	eventually.True(t, "it runs", func() bool { return !k.exists() })
	t.Logf("from the press to the end of the command: %v", time.Since(pressed))
	eventually.True(t, "the card says so", func() bool { return strings.Contains(k.card(item.ID), "Allowed") })
	k.bot.Inject(botapitest.Update{User: 7, Text: "/approve " + item.ID})
	eventually.True(t, "a second answer is refused", func() bool { return k.said("waits no longer") })
}

func (k *asker) said(text string) bool {
	for _, m := range k.bot.Sent() {
		if strings.Contains(strings.ToLower(m.Text), text) {
			return true
		}
	}
	return false
}

func TestTR5_AStopDoesNotWaitForAPersonAndRunsNothing(t *testing.T) {
	k := newAsker(t)
	item := k.asks("rm -rf " + k.victim)
	began := time.Now()
	if code, _ := k.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 10*time.Second { // the drain alone would take approvals.expire
		t.Errorf("the stop took %v", took)
	}
	skipped := false
	for _, l := range k.log() {
		skipped = skipped || strings.Contains(fmt.Sprint(l), item.ID) && strings.Contains(fmt.Sprint(l), "withdrawn")
	}
	if !skipped {
		t.Error("the log does not say that the request was withdrawn")
	}
	k.gateway = start(t, k.home, k.config)
	k.over(item)
}

func TestTR5_AfterASIGKILLNothingThatWasAskedRuns(t *testing.T) {
	k := newAsker(t)
	item := k.asks("rm -rf " + k.victim)
	k.signal(syscall.SIGKILL)
	k.exit()
	k.gateway = start(t, k.home, k.config)
	k.over(item)
	k.bot.Inject(botapitest.Update{User: 7, Text: "sh: ls"})
	eventually.True(t, "the next turn", func() bool { return k.session("telegram:dm:7").State == ops.SessionIdle })
}

// over checks in the next life that a request is withdrawn, that its chat reads so, and that no answer runs it.
func (k *asker) over(item ops.InboxItem) {
	k.t.Helper()
	eventually.True(k.t, "the card is withdrawn", func() bool { return strings.Contains(k.card(item.ID), "Withdrawn") })
	k.bot.Inject(botapitest.Update{User: 7, Text: "/approve " + item.ID + " always"})
	eventually.True(k.t, "the answer is refused", func() bool { return k.said("waits no longer") })
	if out, code := k.verb("approve", item.ID); code != 1 || !strings.Contains(out, "withdrawn") {
		k.t.Errorf("approve: %d %s", code, out)
	}
	if !k.exists() {
		k.t.Error("it ran in the next life")
	}
}

// Every command that the help of the embedded script shows runs without a question.
func TestTR3_TheFirstMinuteAsksNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	g := start(t, newHome(t), quick+"[agent]\nenvironment = \"local\"\napprovals = \"fence\"\n")
	for _, say := range []string{
		"hello", "help", "echo hi", "sh: uname -a", "ps", "list", "write: notes.txt Buy milk.", "read: notes.txt", "edit: notes.txt milk => bread", "find: bre.d", "delegate: sh: ls", "stream", "flaky",
	} {
		reply, status := g.chat("ann", say)
		if status != 200 && say != "flaky" || strings.Contains(reply, "approval") {
			t.Errorf("%s: %d %s", say, status, reply)
		}
	}
	pid := g.job("ann", "sleep 600")
	for _, say := range []string{fmt.Sprintf("log %d", pid), fmt.Sprintf("kill %d", pid)} {
		if reply, status := g.chat("ann", say); status != 200 || strings.Contains(reply, "approval") {
			t.Errorf("%s: %d %s", say, status, reply)
		}
	}
	var page ops.Page[ops.InboxItem]
	if g.socket("GET", "/v1/inbox", nil, &page); len(page.Items) != 0 {
		t.Errorf("the inbox has %+v", page.Items)
	}
}
