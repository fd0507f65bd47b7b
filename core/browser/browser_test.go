package browser

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"gatewaytui/core/address"
	"gatewaytui/fixtures/shortdir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// programs puts programs into PATH that do nothing, and nothing else.
func programs(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

// newBrowsers makes browsers that may reach the private addresses of allow.
func newBrowsers(t *testing.T, root bool, allow ...string) (b *Browsers, folder string) {
	t.Helper()
	allowed, err := address.ParseAllowed(allow)
	if err != nil {
		t.Fatal(err)
	}
	guard := address.NewGuard(address.Options{Allowed: allowed, Key: "web.allow_private"})
	folder = filepath.Join(shortdir.New(t), "browsers")
	return New(Options{Folder: folder, Guard: func() *address.Guard { return guard }, Root: root}), folder
}

func launch(t *testing.T, b *Browsers, command ...string) (Launch, playwright) {
	t.Helper()
	l, err := b.Launch(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	text, err := os.ReadFile(l.Command[len(l.Command)-1])
	if err != nil {
		t.Fatal(err)
	}
	var c playwright
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return l, c
}

func TestHR2_ABrowserIsTheMachinesOwn(t *testing.T) {
	dir := programs(t, "playwright-mcp", "mcp-server-playwright", "chromium-browser", "google-chrome", "npx", "node")
	b, _ := newBrowsers(t, true)
	l, c := launch(t, b)
	if want := filepath.Join(dir, "playwright-mcp"); l.Command[0] != want || l.Command[1] != "--config" || len(l.Command) != 3 {
		t.Errorf("it starts %q, want %s with its config", l.Command, want)
	}
	if o := c.Browser.LaunchOptions; o.ExecutablePath != filepath.Join(dir, "chromium-browser") || !o.Headless || o.ChromiumSandbox || !c.Browser.Isolated {
		t.Errorf("as root: %+v", o)
	}
	b, _ = newBrowsers(t, false)
	if l, c = launch(t, b, "node", "cli.js"); !slices.Equal(l.Command[:3], []string{"node", "cli.js", "--config"}) || !c.Browser.LaunchOptions.ChromiumSandbox {
		t.Errorf("not as root, with a command: %q, sandbox %v", l.Command, c.Browser.LaunchOptions.ChromiumSandbox)
	}
}

func TestHR2_WhatIsMissingIsNamedWithTheWayToGetIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		has     []string
		command []string
		want    string
	}{
		{"no server", []string{"chromium", "npx"}, nil, "npm install -g @playwright/mcp@" + Version},
		{"no Chromium", []string{"playwright-mcp"}, nil, "apt-get install chromium"},
		{"no program of the config", []string{"chromium"}, []string{"/opt/none/playwright-mcp"}, "/opt/none/playwright-mcp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			programs(t, tt.has...)
			b, folder := newBrowsers(t, true)
			if _, err := b.Launch(t.Context(), tt.command); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("there is a folder")
			}
		})
	}
}

func TestHR2_AHomeThatIsTooDeepIsNamedAndNothingStays(t *testing.T) {
	programs(t, "playwright-mcp", "chromium")
	folder := filepath.Join(shortdir.New(t), strings.Repeat("long", 20))
	b := New(Options{Folder: folder, Guard: func() *address.Guard { return nil }})
	if _, err := b.Launch(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "bytes too long") {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

func TestHR2_AllThatABrowserKeepsIsInOneFolderThatItsCloseRemoves(t *testing.T) {
	programs(t, "playwright-mcp", "chromium")
	b, folder := newBrowsers(t, true)
	l, c := launch(t, b)
	own := filepath.Dir(l.Command[2])
	if filepath.Dir(own) != folder || !strings.HasPrefix(c.OutputDir, own+"/") || !strings.HasPrefix(c.Browser.InitPage[0], own+"/") {
		t.Errorf("the folder is %s, the output in %s", own, c.OutputDir)
	}
	for _, variable := range []string{"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		if i := slices.IndexFunc(l.Env, func(kv string) bool { return strings.HasPrefix(kv, variable+"="+own) }); i < 0 {
			t.Errorf("%s leads elsewhere: %q", variable, l.Env)
		}
	}
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.MkdirAll(filepath.Join(own, "tmp", "profile", "Default"), 0o500); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(folder, "of-an-earlier-life", "profile")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the folder of an earlier life is left")
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("the sweep removed a browser of this life: %v", err)
	}
	for range 2 {
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	if _, err := http.Get(c.Browser.LaunchOptions.Proxy["server"]); err == nil {
		t.Error("the proxy still serves")
	}
}

func TestHR2_TheOnlyWayOfABrowserRefusesPrivateAddresses(t *testing.T) {
	programs(t, "playwright-mcp", "chromium")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }))
	defer site.Close()
	authority := strings.TrimPrefix(site.URL, "http://")
	get := func(c playwright, address string) (int, string) {
		t.Helper()
		way, err := url.Parse(c.Browser.LaunchOptions.Proxy["server"])
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(way), DisableKeepAlives: true}}
		resp, err := client.Get(address)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	closed, _ := newBrowsers(t, true)
	_, c := launch(t, closed)
	for _, address := range []string{site.URL, "http://localhost:" + authority[strings.LastIndexByte(authority, ':')+1:], "http://169.254.169.254/", "http://[::1]/", "http://10.0.0.1/"} {
		if code, text := get(c, address); code != http.StatusForbidden || !strings.Contains(text, "web.allow_private") {
			t.Errorf("%s: %d %q", address, code, text)
		}
	}
	if code, text := get(c, "https://127.0.0.1/"); code != 0 || !strings.Contains(text, "private address") {
		t.Errorf("a tunnel: %d %q", code, text)
	}
	for _, argument := range []string{"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic"} {
		if !slices.Contains(c.Browser.LaunchOptions.Args, argument) {
			t.Errorf("Chromium lacks %s", argument)
		}
	}
	if c.Browser.LaunchOptions.Proxy["bypass"] != "<-loopback>" {
		t.Error("Chromium reaches this machine without the proxy")
	}
	open, _ := newBrowsers(t, true, authority)
	_, c = launch(t, open)
	if code, text := get(c, site.URL); code != http.StatusOK || text != "inside" {
		t.Errorf("an address that is allowed: %d %q", code, text)
	}
}
