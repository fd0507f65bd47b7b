package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
)

// CV7: with stream = "draft" a direct message shows the answer as it is written in drafts, a group shows none, and each has the answer as its
// only message. So it is on a server that does not know of drafts.
func TestCV7_TheAnswerIsWrittenInADraftOfTelegram(t *testing.T) {
	t.Parallel() // it mostly waits
	const token = "1:secret"
	bot := botapitest.New(token)
	t.Cleanup(bot.Close)
	dir := t.TempDir()
	tokenFile, script := filepath.Join(dir, "token"), filepath.Join(dir, "script.toml")
	for name, content := range map[string]string{tokenFile: token, script: writing} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, newHome(t), quick+fmt.Sprintf(`
[model]
script = %q
[adapters.telegram]
enabled = true
token_env = ""
token_file = %q
base_url = %q
allow_all = true
groups = [-100]
mention = "always"
[[routes]]
match = "telegram:*"
chat = { stream = "draft" }
`, script, tokenFile, bot.URL))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answered := func(messages int) {
		t.Helper()
		if err := bot.Await(ctx, func(b *botapitest.Server) bool { return len(b.Sent()) == messages }); err != nil {
			t.Fatalf("the chats have %+v: %v", bot.Sent(), err)
		}
		for _, m := range bot.Sent() {
			if !strings.HasPrefix(m.Text, "Answer ") || isDraft(m.Text) {
				t.Errorf("a chat has %q", m.Text)
			}
		}
	}
	bot.Inject(botapitest.Update{User: 7, Text: "write 1"})
	bot.Inject(botapitest.Update{User: 7, Chat: -100, Text: "write 2"})
	answered(2)
	drafts := bot.Drafts()
	if len(drafts) == 0 {
		t.Fatal("the chat saw no draft")
	}
	for _, d := range drafts {
		if d.ChatID != 7 || d.ID != drafts[0].ID || !strings.HasPrefix(d.Text, "Answer 1 begins") || !isDraft(d.Text) {
			t.Errorf("a chat saw %+v", d)
		}
	}
	for _, method := range []string{"editMessageText", "deleteMessage"} {
		if n := bot.Calls(method); n != 0 {
			t.Errorf("%s was called %d times", method, n)
		}
	}
	before := bot.Calls("sendMessageDraft")
	bot.Fail("sendMessageDraft", botapitest.Fault{Code: 404, Description: "Not Found: method not found"})
	bot.Inject(botapitest.Update{User: 7, Text: "write 3"})
	answered(3)
	if n := bot.Calls("sendMessageDraft") - before; n != 1 {
		t.Errorf("an older server was asked for %d drafts in a turn", n)
	}
}
