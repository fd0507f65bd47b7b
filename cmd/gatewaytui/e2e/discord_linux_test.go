package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/fixtures/eventually"
)

// CV7, PL3: Discord takes an answer, and the gateway is killed before it knows. The next life sends it again, and the chat has
// it once, without a word about a repeat, because Discord knows its nonce.
func TestCV7_AnAnswerOnDiscordExistsOnceAfterAKill(t *testing.T) {
	const token = "c4nary.c4naryc4nary.c4naryc4nary"
	bot := discordtest.New(token)
	t.Cleanup(bot.Close)
	home := newHome(t)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	config := quick + fmt.Sprintf("[adapters.discord]\nenabled = true\ntoken_env = \"\"\ntoken_file = %q\nbase_url = %q\nallow = [4711]\ngroups = [42]\n", tokenFile, bot.URL)
	posts := func() int { return len(bot.Calls("POST /channels/4201/messages")) }

	g := start(t, home, config)
	eventually.True(t, "the bot is there", func() bool { return len(bot.Identifies()) == 1 })
	bot.Fail("POST /channels/4201/messages", discordtest.Fault{Arrives: true, Hang: true})
	bot.Say(discordtest.Says{User: "4711", Name: "alice", Guild: discordtest.Guild, Channel: discordtest.Thread, Text: "<@" + discordtest.BotID + "> echo the **answer**"})
	eventually.True(t, "Discord has the answer", func() bool { return posts() == 1 })
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.exit()
	bot.Heal()

	next := start(t, home, config)
	eventually.True(t, "the answer is sent again", func() bool { return posts() == 2 })
	bot.Say(discordtest.Says{User: "4711", Name: "alice", Text: "echo the last"})
	eventually.True(t, "the next life works", func() bool { return len(bot.Sent()) > 1 })
	var texts []string
	for _, m := range bot.Sent() {
		texts = append(texts, m.Channel+" "+m.Text)
	}
	if got, want := strings.Join(texts, "; "), "4201 the **answer**; 74711 the last"; got != want {
		t.Errorf("the chats have %q, want %q", got, want)
	}
	var page struct{ Items []struct{ Key string } }
	next.socket(http.MethodGet, "/v1/sessions", nil, &page)
	if len(page.Items) != 2 || !strings.Contains(page.Items[0].Key+page.Items[1].Key, "discord:guild:42:channel:4200:thread:4201") {
		t.Errorf("the sessions are %+v", page.Items)
	}
	if code, _ := next.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}
