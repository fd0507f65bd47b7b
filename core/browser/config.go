package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// guard keeps pages off files and off the browser's own pages.
//
//go:embed guard.js
var guard []byte

// settle is how long Playwright waits for what an action causes, in milliseconds. Its own default is 500.
const settle = 100

// inAnswer has the page stand in the answer to each action. The documented values leave it out, or put it into a file that no model reads.
const inAnswer = "explicit"

// settings are what differs from browser to browser.
type settings struct {
	Chromium, Proxy string
	Root            bool
}

// arguments keep Chromium on its proxy: it looks up no name, sends no UDP and has no exception for this machine.
var arguments = []string{
	"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
	"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	"--disable-quic",
	"--disable-crash-reporter",
}

// The config of Playwright's server, as far as it is written here (@playwright/mcp 0.0.83, config.d.ts).
type (
	playwright struct {
		Browser   chromium          `json:"browser"`
		OutputDir string            `json:"outputDir"`
		Timeouts  map[string]int    `json:"timeouts"`
		Snapshot  map[string]string `json:"snapshot"`
		Codegen   string            `json:"codegen"`
		WebMCP    bool              `json:"webmcp"`
	}
	chromium struct {
		BrowserName    string            `json:"browserName"`
		Isolated       bool              `json:"isolated"`
		InitPage       []string          `json:"initPage"`
		LaunchOptions  launchOptions     `json:"launchOptions"`
		ContextOptions map[string]string `json:"contextOptions"`
	}
	launchOptions struct {
		Headless        bool              `json:"headless"`
		ExecutablePath  string            `json:"executablePath"`
		ChromiumSandbox bool              `json:"chromiumSandbox"`
		Proxy           map[string]string `json:"proxy"`
		Args            []string          `json:"args"`
	}
)

// writeConfig writes the config of a browser into its folder and returns the path of the file.
func writeConfig(folder string, s settings) (file string, err error) {
	script := filepath.Join(folder, "guard.js")
	text, err := json.Marshal(playwright{
		Browser: chromium{
			BrowserName: "chromium", Isolated: true, InitPage: []string{script},
			LaunchOptions: launchOptions{
				Headless: true, ExecutablePath: s.Chromium, ChromiumSandbox: !s.Root, Args: arguments,
				Proxy: map[string]string{"server": s.Proxy, "bypass": "<-loopback>"},
			},
			ContextOptions: map[string]string{"serviceWorkers": "block"}, // they would load without the guard of a page
		},
		OutputDir: filepath.Join(folder, "output"), Timeouts: map[string]int{"settle": settle},
		Snapshot: map[string]string{"mode": inAnswer}, Codegen: "none",
	})
	if err != nil {
		return "", fmt.Errorf("write the config of a browser: %w", err)
	}
	if err := os.Mkdir(filepath.Join(folder, temporary), 0o700); err != nil {
		return "", fmt.Errorf("make the folder for temporary files of a browser: %w", err)
	}
	file = filepath.Join(folder, "config.json")
	for path, content := range map[string][]byte{script: guard, file: text} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return "", fmt.Errorf("write the config of a browser: %w", err)
		}
	}
	return file, nil
}
