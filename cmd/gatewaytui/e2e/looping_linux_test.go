package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// A person finds the one looping session of 300 on the overview, reads what it does, ends its turn, and answers another session's
// request.
func TestOP1_FourKeysStopTheOneLoopingSessionOfThreeHundred(t *testing.T) {
	soak.Long(t)
	script := filepath.Join(t.TempDir(), "script.toml")
	again := strings.Repeat(`{ call = [{ tool = "terminal", arguments = { command = "sleep 0.2; echo still red" } }] }, `, 400)
	text := fmt.Sprintf("[[rule]]\nmatch = '^fix the build$'\ncall = [{ tool = \"terminal\", arguments = { command = \"sleep 0.2; echo still red\" } }]\nthen = [%s]\n\n", again) +
		"[[rule]]\nmatch = '^clean$'\ncall = [{ tool = \"terminal\", arguments = { command = \"rm -r build\" } }]\nthen = [{ reply = \"cleaned\" }]\n\n" +
		"[[rule]]\nmatch = '(?s)^.*$'\nreply = \"hello\"\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const token = "1:secret"
	bot := botapitest.New(token)
	t.Cleanup(bot.Close)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, newHome(t), quick+fmt.Sprintf(`
[agent]
environment = "local"
approvals = "fence"
[model]
script = %q
[access]
owners = ["telegram:7"]
[adapters.api]
role = "owner"
[adapters.telegram]
enabled = true
token_env = ""
token_file = %q
base_url = %q
allow = [7]
`, script, tokenFile, bot.URL))
	var crowd sync.WaitGroup
	for i := range 300 {
		crowd.Go(func() { ask(t, http.DefaultClient, g.api, fmt.Sprintf("user%03d", i)) })
	}
	crowd.Wait()
	g.say("runaway", "fix the build")

	s := newScreen(t, 140, 40, "attach", "--home", g.home)
	s.await("looping", "runaway")
	keys := 0
	press := func(name string) { keys++; s.keys(name) }

	press("Enter") // the selected row of the overview is what needs attention most
	s.await("api:user:runaway", "still red")
	press("I")
	keys++ // the answer
	s.answer("Interrupt", "y")
	eventually.True(t, "the looping turn has ended", func() bool {
		var page ops.Page[ops.Session]
		g.socket("GET", "/v1/sessions?key=api:user:runaway", nil, &page)
		return len(page.Items) == 1 && page.Items[0].Turn == ""
	})
	if keys > 4 {
		t.Errorf("%d keys were pressed, at most 4 are promised", keys)
	}

	bot.Inject(botapitest.Update{User: 7, Text: "clean"})
	s.keys("1")
	s.await("> ▲ asks", "telegram:dm:7", "rm -r build") // the turn alone is shown before its request
	keys = 0
	press("i")
	keys++
	s.answer("y once", "y")
	eventually.True(t, "the approved command has run and is answered", func() bool {
		for _, m := range bot.Sent() {
			if strings.Contains(m.Text, "cleaned") {
				return true
			}
		}
		return false
	})
	t.Logf("the request of another session took %d keys", keys)
}
