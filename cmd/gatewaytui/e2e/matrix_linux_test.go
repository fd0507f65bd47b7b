package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/fixtures/eventually"
)

// PL3: a message in a thread is answered there with a code block, and a file is saved. What was said while the gateway was killed is
// answered once, and the press of a reaction answers an approval.
func TestPL3_AnAccountOfMatrixIsServedOverAKill(t *testing.T) {
	const (
		token = "syt_c4nary_c4naryc4nary"
		alice = "@alice:example.org"
	)
	bot := matrixtest.New(token)
	t.Cleanup(bot.Close)
	dm := bot.Open(alice, "alice")
	home, victim := newHome(t), filepath.Join(t.TempDir(), "victim")
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(victim, "precious"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := quick + fmt.Sprintf("[agent]\nenvironment = \"local\"\napprovals = \"fence\"\n[access]\nowners = [\"matrix:%s\"]\n[adapters.matrix]\nenabled = true\n"+
		"homeserver = %q\nuser = %q\ntoken_env = \"\"\ntoken_file = %q\nallow = [%q]\ngroups = [%q]\n", alice, bot.URL, matrixtest.BotID, tokenFile, alice, matrixtest.Room)
	says := func(m matrixtest.Says) string { m.User, m.Name = alice, "alice"; return bot.Say(m) }
	// sent are the messages of the bot whose text begins so.
	sent := func(begin string) []matrixtest.Message {
		return slices.DeleteFunc(bot.Sent(), func(m matrixtest.Message) bool { return !strings.HasPrefix(m.Text, begin) })
	}

	g := start(t, home, config)
	eventually.True(t, "the bot is there", func() bool { return bot.Kept("org.gatewaytui.sync") != nil })
	root := says(matrixtest.Says{Room: matrixtest.Room, Text: "a topic"})
	says(matrixtest.Says{Room: matrixtest.Room, Thread: root, Mentions: []string{matrixtest.BotID}, Text: "Helper: echo the answer\n\n```go\nx := 1\n```"})
	eventually.True(t, "the thread has its answer", func() bool { return len(sent("the answer")) == 1 })
	if m := sent("the answer")[0]; m.Thread != root || !strings.Contains(m.HTML, `<pre><code class="language-go">x := 1`) {
		t.Errorf("the answer is %+v", m)
	}
	says(matrixtest.Says{Text: "echo it is saved", File: "report.bin", Content: "\x00\x01\x02"})
	eventually.True(t, "the file has its answer", func() bool { return len(sent("it is saved")) == 1 })
	if found, err := filepath.Glob(filepath.Join(home, "work", "received", "*", "report.bin")); err != nil || len(found) != 1 {
		t.Errorf("the work folder has %q, %v", found, err)
	}
	g.kill()
	says(matrixtest.Says{Text: "echo in the gap"})

	next := start(t, home, config)
	eventually.True(t, "what was said in the gap is answered", func() bool { return len(sent("in the gap")) == 1 })
	says(matrixtest.Says{Text: "sh: rm -r " + victim})
	var card matrixtest.Message
	eventually.True(t, "a card asks", func() bool {
		for _, m := range bot.Sent() {
			if slices.Contains(m.Reactions, "Allow once") {
				card = m
			}
		}
		return card.ID != ""
	})
	if _, err := os.Stat(victim); err != nil || card.Room != dm {
		t.Fatalf("the command ran before its answer: %v; the card is in %s", err, card.Room)
	}
	bot.React(dm, alice, card.ID, "Allow once")
	eventually.True(t, "the command runs", func() bool { _, err := os.Stat(victim); return os.IsNotExist(err) })
	eventually.True(t, "the card has no buttons", func() bool { return len(bot.Reactions(dm, card.ID)) == 0 })
	if code, _ := next.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, text := range []string{"the answer", "it is saved", "in the gap"} {
		if n := len(sent(text)); n != 1 {
			t.Errorf("%q was sent %d times", text, n)
		}
	}
}
