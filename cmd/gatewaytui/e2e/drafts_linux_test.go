package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// writing plays a model whose answer takes about three seconds, a few letters at a time.
const writing = `
[[rule]]
match = '^write (\d+)$'
chunk = 4
pace = "100ms"
reply = "Answer $1 begins here and goes on for a while, as answers do, word after word, until it comes to the end of $1."

[[rule]]
reply = "What?"
`

// trouble are the ways in which the platform fails for a call or two.
var trouble = []botapitest.Fault{
	{Code: 429, RetryAfter: 1, Times: 1},
	{Drop: true, Times: 1},
	{Drop: true, Times: 3},
	{Code: 500, Times: 2},
	{Delay: 400 * time.Millisecond, Times: 3},
	{Hang: true, Times: 1},
}

// CV7: after any number of floods, lost answers, hangs and SIGKILLs a chat has the answer to its message, or the notice that it
// was cut off, once. Where it is there twice, the second says so. No draft stays of which the gateway could know.
func TestCV7_AnAnswerExistsOnceAfterKillsAtRandomMoments(t *testing.T) {
	t.Parallel() // it mostly waits
	const token, together = "1:secret", 5
	runs := soak.Count(t, 20, 500)
	bot := botapitest.New(token)
	t.Cleanup(bot.Close)
	home, dir := newHome(t), t.TempDir()
	tokenFile, script := filepath.Join(dir, "token"), filepath.Join(dir, "script.toml")
	for name, content := range map[string]string{tokenFile: token, script: writing} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := quick + fmt.Sprintf(`
[model]
script = %q
[adapters.telegram]
enabled = true
token_env = ""
token_file = %q
base_url = %q
allow_all = true
[[routes]]
match = "telegram:dm:1*"
[[routes]]
match = "telegram:*"
chat = { stream = "edit" }
`, script, tokenFile, bot.URL)
	unknown := 0
	for n := 0; n < runs; n += together {
		g := start(t, home, config)
		for i := range together {
			user := int64(1000 + (n+i)%2*1000 + n + i) // those from 2000 on stream
			go func() {
				<-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond) // the moment is random, not waited for
				bot.Inject(botapitest.Update{User: user, Text: fmt.Sprintf("write %d", user)})
			}()
		}
		for range 3 {
			<-time.After(time.Duration(rand.IntN(1200)) * time.Millisecond)
			bot.Fail([]string{"sendMessage", "editMessageText", "sendChatAction"}[rand.IntN(3)], trouble[rand.IntN(len(trouble))])
		}
		<-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond)
		if err := g.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		g.exit()
		bot.Heal()
		unknown += strings.Count(g.output(), "draft may be left in its chat")
	}
	g := start(t, home, config)
	finals := func() map[int64][]string {
		out := map[int64][]string{}
		for _, m := range bot.Sent() {
			if !isDraft(m.Text) {
				out[m.ChatID] = append(out[m.ChatID], m.Text)
			}
		}
		return out
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := bot.Await(ctx, func(*botapitest.Server) bool { return len(finals()) == runs && bot.Unconfirmed() == 0 }); err != nil {
		t.Fatalf("%d of %d chats have an answer: %v", len(finals()), runs, err)
	}
	drafts := func() (left []string) {
		for _, m := range bot.Sent() {
			if isDraft(m.Text) {
				left = append(left, m.Text)
			}
		}
		return left
	}
	eventually.True(t, "the drafts are gone but for those that nothing is known of", func() bool {
		return len(drafts()) <= unknown+strings.Count(g.output(), "draft may be left in its chat")
	})
	repeated := 0
	for chat, texts := range finals() {
		again := 0
		for _, text := range texts {
			if strings.HasPrefix(text, adapter.RepeatMark) {
				again++
			}
		}
		repeated += again
		if len(texts)-again > 1 {
			t.Errorf("chat %d has %q", chat, texts)
		}
	}
	t.Logf("%d chats: %d messages said that they may be there twice, %d drafts were left", runs, repeated, len(drafts()))
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// isDraft reports whether a message is a draft or a progress.
func isDraft(text string) bool {
	return strings.HasSuffix(text, " …") || strings.HasPrefix(text, "Waiting for") || strings.HasPrefix(text, "Receiving") || strings.HasPrefix(text, "Running")
}
