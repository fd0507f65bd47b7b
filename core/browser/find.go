package browser

import (
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/process"
	"gatewaytui/core/term"
)

// Names of the programs in PATH, the first that exists counts.
var (
	servers   = []string{"playwright-mcp", "mcp-server-playwright"}
	chromiums = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}
)

// Version is the version of Playwright's server that this package was tried with.
const Version = "0.0.83"

// Programs are the programs of a browser: the command of Playwright's server, and the path of Chromium.
type Programs struct {
	Server   []string
	Chromium string
}

// Find finds the programs. command is the server's command by the config, or empty: it is searched for in PATH. The error says what is
// missing and how to install it.
func Find(command []string) (Programs, error) {
	found := Programs{Server: slices.Clone(command)}
	if len(found.Server) == 0 {
		server, err := first(servers)
		if err != nil {
			return Programs{}, fmt.Errorf("the browser needs Playwright's server, and PATH has no %s: install it with \"npm install -g @playwright/mcp@%s\", "+
				"or name its program in command of the server", strings.Join(servers, " and no "), Version)
		}
		found.Server = []string{server}
	} else if _, err := process.Find(found.Server[0]); err != nil {
		return Programs{}, fmt.Errorf("the browser needs the program %s, which is not there: install it, or change command of the server", term.Quote(found.Server[0]))
	}
	var err error
	if found.Chromium, err = first(chromiums); err != nil {
		return Programs{}, fmt.Errorf("the browser needs Chromium, and PATH has no %s: install it, for instance with \"apt-get install chromium\"", strings.Join(chromiums, ", "))
	}
	return found, nil
}

// first is the path of the first program of a list that exists.
func first(names []string) (path string, err error) {
	for _, name := range names {
		if path, err = process.Find(name); err == nil {
			return path, nil
		}
	}
	return "", err
}
