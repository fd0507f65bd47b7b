package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/browser"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
	"gatewaytui/fixtures/soak"
)

// browsing is a script whose model uses the tools of a browser.
const browsing = `
[[rule]]
match = '(?is)^go:\s*(\S+)$'
call = [{ tool = "browser__browser_navigate", arguments = { url = "$1" } }]
[[rule]]
match = '(?is)^look$'
call = [{ tool = "browser__browser_snapshot", arguments = { } }]
[[rule]]
match = '(?is)^steal: (\S+)$'
call = [{ tool = "browser__browser_evaluate", arguments = { function = "() => fetch('$1').then(r => r.text()).catch(e => 'no: ' + e)" } }]
`

// page is a site of this machine that answers with a text.
func page(t testing.TB, text string) *httptest.Server {
	return serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>A page</title><h1>"+text+"</h1>")
	})))
}

// browsers is a config with a browser that reaches one site of this machine, without a question.
func browsers(t testing.TB, site *httptest.Server) (config string) {
	t.Helper()
	server := browserServer(t, site)
	script := filepath.Join(t.TempDir(), "browsing.toml")
	if err := os.WriteFile(script, []byte(browsing), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("[model]\nscript = %q\n[agent]\nservers = [\"browser\"]\n", script) + server
}

// browserServer is the part of a config that has the server browser, which reaches one site of this machine.
func browserServer(t testing.TB, site *httptest.Server) (config string) {
	t.Helper()
	soak.Peer(t, "chromium", "apt-get install chromium")
	server := filepath.Join(npmtest.Install(t, "@playwright/mcp", browser.Version), "node_modules", ".bin", "playwright-mcp")
	return fmt.Sprintf("[servers.browser]\npreset = \"browser\"\ncommand = [%q]\ntrusted = [\"*\"]\ntimeout = \"2m\"\n[web]\nallow_private = [%q]\n", server, strings.TrimPrefix(site.URL, "http://"))
}

// folders are those of browsers in a home.
func folders(home string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(home, "browsers")) // there may be none yet
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestHR2_ABrowserReachesNothingPrivateAndEndsWithItsSession(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	site, inside := page(t, "for the browser"), page(t, "not for the browser")
	home := newHome(t)
	g := start(t, home, browsers(t, site))
	for _, step := range []struct{ say, want, not string }{
		{"go: " + site.URL, "Page Title: A page", ""},
		{"look", "for the browser", ""},
		{"steal: " + inside.URL, "no: ", "not for the browser"},
		{"go: " + inside.URL, "403", ""},
		{"look", "web.allow_private", "not for the browser"},
		{"go: http://localhost" + inside.URL[strings.LastIndexByte(inside.URL, ':'):], "403", "not for the browser"},
		{"go: http://" + g.api + "/v1/models", "403", ""},
		{"go: file:///etc/passwd", "is blocked", "root:"},
		{"go: view-source:file:///etc/passwd", "only addresses that begin with http", "root:"},
		{"go: chrome://version", "only addresses that begin with http", ""},
		{"go: " + site.URL + "/again", "Page Title: A page", ""},
	} {
		reply, status := g.chat("ann", step.say)
		if status != http.StatusOK || !strings.Contains(reply, step.want) || step.not != "" && strings.Contains(reply, step.not) {
			t.Errorf("%s: answered %d %q, want %q and not %q", step.say, status, reply, step.want, step.not)
		}
	}
	var held struct{ Items []ops.Held }
	if code := g.socket("GET", "/v1/browsers", nil, &held); code != http.StatusOK || len(held.Items) != 1 || held.Items[0].Kind != ops.HeldBrowser || held.Items[0].Session != "api:user:ann" {
		t.Errorf("the rows of browsers: %d %+v", code, held.Items)
	}
	chromiums := 0
	for _, command := range marked(t, g.life) {
		if strings.Contains(command, "chromium") {
			chromiums++
		}
	}
	if names := folders(home); len(names) != 1 || chromiums == 0 {
		t.Errorf("a browser runs: the folders %q, %d tracked processes of Chromium", names, chromiums)
	}
	g.chat("ann", "/new")
	eventually.True(t, "the browser ends with its session", func() bool { return len(folders(home)) == 0 && len(marked(t, g.life)) == 0 })
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestHR2_ASIGKILLOfTheGatewayLeavesNoBrowser(t *testing.T) {
	t.Parallel() // it mostly waits
	soak.Long(t)
	site := page(t, "for the browser")
	config, home := browsers(t, site), newHome(t)
	g := start(t, home, config)
	n := soak.Count(t, 2, 5)
	for i := range n {
		if reply, status := g.chat(fmt.Sprint("person-", i), "go: "+site.URL); status != http.StatusOK || !strings.Contains(reply, "A page") {
			t.Fatalf("browser %d: %d %q", i, status, reply)
		}
	}
	if names := folders(home); len(names) != n {
		t.Errorf("%d browsers have the folders %q", n, names)
	}
	g.kill()
	g.leavesNothing()
	g = start(t, home, config)
	eventually.True(t, "the next start removes the folders", func() bool { return len(folders(home)) == 0 })
	if code, _ := g.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A page from message to answer: in a browser that runs, and with the start of one.
func BenchmarkBrowserPage(b *testing.B) {
	site := page(b, "for the browser")
	g := start(b, newHome(b), browsers(b, site))
	pages := 0
	ask := func(b *testing.B, user string) {
		b.Helper()
		pages++ // a page that is there already is not named again
		if reply, status := g.chat(user, fmt.Sprint("go: ", site.URL, "/", pages)); status != http.StatusOK || !strings.Contains(reply, "A page") {
			b.Fatalf("%d %q", status, reply)
		}
	}
	ask(b, "first") // the list of tools is known from here on
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			ask(b, "first")
		}
	})
	b.Run("cold", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			user := fmt.Sprint("person-", i)
			ask(b, user)
			b.StopTimer()
			g.chat(user, "/new") // its browser ends
			b.StartTimer()
		}
	})
	if code, _ := g.stop(); code != 0 {
		b.Errorf("exit code %d", code)
	}
}
