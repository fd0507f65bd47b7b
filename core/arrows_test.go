package core

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// arrows lists, for each room, which other rooms it may import. What is not listed may not be imported.
var arrows = map[string][]string{
	"core/ops":      {"core/text"},
	"core/takeover": {"core/ops", "core/control", "core/follow", "core/instance", "core/process", "core/remote"},
	"core/acp":      {"core/agent", "core/environment", "core/fence", "core/model", "core/ops", "core/process", "core/process/pipe", "core/term", "core/timeline", "core/tool"},
	"core/term":     {},
	"core/timeline": {"core/ops", "core/term"},
	"core/text":     {},
	"core/filter":   {"core/ops", "core/text"},
	"core/follow":   {"core/ops"},
	"core/demo":     {"core/ops", "core/config", "core/instance"},
	"core/host": {
		"core/ops", "core/term", "core/bound", "core/limit", "core/files", "core/media", "core/model", "core/config", "core/adapter", "core/adapter/api", "core/adapter/demo", "core/adapter/webhook", "core/platforms", "core/hook", "core/signature",
		"core/control", "core/demo", "core/doctor", "core/fence", "core/gateway", "core/instance", "core/lives", "core/logs", "core/process", "core/reload", "core/service", "core/shutdown",
		"core/store", "core/takeover", "fixtures",
	},
	"core/platforms":                   {"core/adapter", "core/adapter/bot", "core/adapter/discord", "core/adapter/external", "core/adapter/feishu", "core/adapter/irc", "core/adapter/mail", "core/adapter/matrix", "core/adapter/telegram", "core/adapter/slack", "core/config", "core/process"},
	"core/lessons":                     {"core/ops", "core/shutdown", "core/text"},
	"core/limit":                       {"core/ops"},
	"core/store":                       {"core/ops", "core/bound"},
	"core/instance":                    {"core/ops", "core/text", "core/process/kernel"},
	"core/lives":                       {"core/ops", "core/term", "core/filter", "core/instance", "core/shutdown"},
	"core/bound":                       {},
	"core/background":                  {"core/ops"},
	"core/events":                      {"core/ops"},
	"core/health":                      {"core/ops", "core/term", "core/background", "core/limit", "core/store", "core/text"},
	"core/recovery":                    {"core/ops", "core/term", "core/text", "core/background", "core/config", "core/delivery", "core/health", "core/instance", "core/lives", "core/media", "core/process", "core/session", "core/store"},
	"core/operator":                    {"core/reload", "core/timeline", "core/access", "core/budget", "core/window", "core/media", "core/people", "core/ops", "core/term", "core/text", "core/filter", "core/adapter", "core/agent", "core/background", "core/conversation", "core/delivery", "core/events", "core/health", "core/instance", "core/limit", "core/logs", "core/metrics", "core/process", "core/rates", "core/recovery", "core/search", "core/session", "core/shutdown", "core/store"},
	"core/held":                        {"core/bound", "core/ops"},
	"core/phases":                      {"core/environment", "core/held", "core/ops", "core/bound", "core/config", "core/adapter", "core/agent", "core/approval", "core/background", "core/conversation", "core/delivery", "core/events", "core/health", "core/instance", "core/lives", "core/notices", "core/operator", "core/reap", "core/recovery", "core/search", "core/session", "core/shutdown", "core/store"},
	"core/notices":                     {"core/ops", "core/term", "core/text", "core/config", "core/delivery", "core/process", "core/session", "core/shutdown", "core/store"},
	"core/people":                      {"core/ops", "core/term", "core/text", "core/store"},
	"core/approval":                    {"core/access", "core/fence", "core/ops", "core/session", "core/store", "core/term", "core/text", "core/tool"},
	"core/access":                      {"core/ops", "core/people", "core/store", "core/term"},
	"core/reap":                        {"core/agent", "core/process", "core/shutdown"},
	"core/metrics":                     {"core/adapter", "core/agent", "core/approval", "core/limit", "core/model", "core/ops", "core/session", "core/store"},
	"core/rates":                       {"core/ops"},
	"core/remote":                      {"core/ops", "core/config", "core/instance", "core/lives", "core/control", "core/process/kernel"},
	"core/schedule":                    {"core/fence", "core/ops", "core/schedule/when", "core/session", "core/store", "core/term", "core/text", "core/tool"},
	"core/schedule/when":               {},
	"core/search/words":                {},
	"core/memory":                      {"core/bound", "core/ops", "core/search/words", "core/session", "core/store", "core/term", "core/tool"},
	"core/search":                      {"core/search/words", "core/ops", "core/term", "core/text", "core/session", "core/store"},
	"core/service":                     {"core/ops", "core/term", "core/config", "core/instance", "core/process/kernel", "core/shutdown"},
	"core/importer/statedb":            {},
	"core/importer":                    {"core/config", "core/importer/statedb", "core/memory", "core/ops", "core/schedule/when", "core/store", "core/term", "core/text"},
	"core/setup":                       {"core/adapter", "core/adapter/telegram", "core/config", "core/environment/sandbox", "core/model", "core/platforms", "core/process", "core/term"},
	"core/shutdown":                    {"core/ops", "core/text"},
	"core/process":                     {"core/bound", "core/limit", "core/ops", "core/term", "core/process/kernel", "core/process/guardian"},
	"core/process/kernel":              {},
	"core/process/pipe":                {},
	"core/process/guardian":            {"core/process/kernel"},
	"core/environment/landlock":        {"core/environment/links", "core/environment/step"},
	"core/environment/links":           {},
	"core/environment/partial":         {"core/environment", "core/environment/landlock", "core/process"},
	"core/address":                     {"core/environment/proxy/hosts"},
	"core/browser":                     {"core/address", "core/environment", "core/environment/proxy", "core/environment/proxy/hosts", "core/process", "core/term"},
	"core/web":                         {"core/address", "core/environment/proxy/hosts", "core/term"},
	"core/environment/proxy":           {"core/address", "core/environment", "core/environment/proxy/hosts", "core/environment/proxy/offer", "core/environment/sandbox"},
	"core/environment/proxy/hosts":     {},
	"core/environment/proxy/offer":     {"core/environment/step"},
	"core/environment/step":            {},
	"core/fence":                       {"core/term"},
	"core/environment/container":       {"core/environment", "core/ops", "core/process", "core/store", "core/term"},
	"fixtures/docker":                  {"fixtures/eventually"},
	"core/environment":                 {"core/bound", "core/ops", "core/process", "core/term"},
	"core/environment/sandbox":         {"core/environment", "core/environment/links", "core/process"},
	"core/config":                      {"core/adapter/webhook/prompt", "core/address", "core/environment/proxy/hosts", "core/fence", "core/ops", "core/schedule/when", "core/shutdown", "core/signature", "core/term", "core/text"},
	"core/doctor":                      {"core/platforms", "core/ops", "core/term", "core/text", "core/config", "core/adapter", "core/browser", "core/environment/container", "core/environment/landlock", "core/environment/sandbox", "core/control", "core/health", "core/instance", "core/process", "core/remote", "core/service", "core/shutdown"},
	"core/logs":                        {"core/ops", "core/term"},
	"core/reload":                      {"core/config", "core/ops", "core/term"},
	"core/workspace":                   {"core/term"},
	"core/conversation":                {"core/memory", "core/timeline", "core/access", "core/budget", "core/limit", "core/media", "core/window", "core/ops", "core/term", "core/text", "core/model", "core/process", "core/store", "core/session", "core/agent", "core/delivery"},
	"core/files":                       {},
	"core/delivery":                    {"core/access", "core/limit", "core/ops", "core/term", "core/adapter", "core/session", "core/store"},
	"core/media":                       {"core/adapter", "core/files", "core/model", "core/session", "core/term"},
	"core/model":                       {"core/limit", "core/ops", "core/term"},
	"core/session":                     {"core/limit", "core/model", "core/ops", "core/timeline"},
	"core/tool":                        {"core/environment", "core/environment/proxy/hosts", "core/web", "core/ops", "core/term", "core/timeline", "core/bound", "core/fence", "core/files", "core/model", "core/process"},
	"core/agent":                       {"core/budget", "core/limit", "core/ops", "core/term", "core/timeline", "core/text", "core/model", "core/tool", "core/process", "core/bound", "core/window"},
	"core/mcp":                         {"core/bound", "core/fence", "core/model", "core/ops", "core/process", "core/process/pipe", "core/term", "core/text", "core/tool"},
	"core/window":                      {"core/model"},
	"core/review":                      {"core/agent", "core/budget", "core/memory", "core/model", "core/ops", "core/term", "core/tool", "core/window"},
	"core/budget":                      {"core/model", "core/ops", "core/store"},
	"core/adapter":                     {"core/text", "core/ops", "core/term", "core/bound", "core/model"},
	"core/adapter/api":                 {"core/ops", "core/term", "core/text", "core/limit", "core/adapter", "core/model"},
	"core/adapter/demo":                {"core/ops", "core/term", "core/text", "core/adapter"},
	"core/adapter/markdown":            {},
	"core/adapter/bot":                 {"core/ops", "core/term", "core/adapter"},
	"core/adapter/telegram":            {"core/ops", "core/term", "core/adapter", "core/adapter/bot", "core/adapter/markdown"},
	"core/adapter/telegram/botapitest": {},
	"core/adapter/bottest":             {"core/adapter", "core/adapter/conformance"},
	"core/adapter/conformance":         {"core/adapter", "core/ops"},
	"core/adapter/discord":             {"core/ops", "core/term", "core/adapter", "core/adapter/bot", "core/adapter/markdown"},
	"core/adapter/discord/discordtest": {"core/adapter/faults"},
	"core/adapter/matrix":              {"core/ops", "core/term", "core/adapter", "core/adapter/bot", "core/adapter/markdown"},
	"core/adapter/matrix/matrixtest":   {},
	"core/adapter/faults":              {},
	"core/adapter/feishu":              {"core/ops", "core/term", "core/adapter", "core/adapter/bot", "core/adapter/feishu/longconn", "core/adapter/markdown"},
	"core/adapter/feishu/longconn":     {},
	"core/adapter/feishu/feishutest":   {"core/adapter/feishu/longconn", "core/adapter/faults"},
	"core/adapter/irc":                 {"core/ops", "core/term", "core/adapter", "core/adapter/bot", "core/adapter/markdown"},
	"core/adapter/irc/irctest":         {},
	"core/adapter/external":            {"core/ops", "core/term", "core/process", "core/process/pipe", "core/adapter", "core/adapter/bot"},
	"core/adapter/external/trial":      {"core/term", "core/process", "core/process/pipe", "core/adapter", "core/adapter/conformance", "core/adapter/external"},
	"core/adapter/mail":                {"core/ops", "core/term", "core/text", "core/web", "core/adapter", "core/adapter/bot", "core/adapter/mail/imap", "core/adapter/markdown"},
	"core/adapter/mail/imap":           {},
	"core/adapter/mail/mailtest":       {},
	"core/adapter/slack":               {"core/ops", "core/term", "core/adapter", "core/adapter/bot", "core/adapter/markdown"},
	"core/adapter/slack/slacktest":     {},
	"core/adapter/webhook":             {"core/ops", "core/term", "core/text", "core/adapter", "core/adapter/webhook/prompt", "core/signature"},
	"core/adapter/webhook/prompt":      {},
	"core/hook":                        {"core/ops", "core/process", "core/signature", "core/term", "core/text"},
	"core/signature":                   {},
	"core/control":                     {"core/ops", "core/term", "core/text", "core/follow"},
	"core/store/simulation":            {},
	"fixtures":                         {},
	"fixtures/acpagent":                {},
	"fixtures/dovecot":                 {"fixtures/eventually", "fixtures/shortdir"},
	"fixtures/eventually":              {},
	"fixtures/faultfs":                 {},
	"fixtures/golden":                  {},
	"fixtures/house":                   {},
	"fixtures/mcptest":                 {},
	"fixtures/mcptest/server":          {"fixtures/mcptest"},
	"fixtures/npmtest":                 {"fixtures/soak"},
	"fixtures/peer":                    {},
	"fixtures/pipenet":                 {},
	"fixtures/powercut":                {"fixtures/soak"},
	"fixtures/said":                    {"core/ops"},
	"fixtures/screens":                 {},
	"fixtures/shortdir":                {},
	"fixtures/skew":                    {"fixtures/shortdir", "fixtures/soak"},
	"fixtures/skew/launch":             {},
	"fixtures/soak":                    {},
	"fixtures/syncbuf":                 {},
	"fixtures/upgrade":                 {},
	"fixtures/upgrade/make":            {"core/adapter/telegram/botapitest", "fixtures/upgrade"},
	"fixtures/xmpp":                    {"fixtures/xmpp/stream"},
	"fixtures/xmpp/stream":             {},
	"fixtures/xmpp/xmpptest":           {"fixtures/xmpp/stream"},
	"fixtures/xmpp/xmpptest/peer":      {"fixtures/xmpp/stream", "fixtures/xmpp/xmpptest"},
	"views":                            {"core/adapter/markdown", "core/lessons", "core/ops", "core/term", "core/filter"},
	"views/lines":                      {"core/lessons", "core/ops", "core/term", "core/text", "core/config", "core/follow", "core/service"},
	"tui":                              {"views/lines", "core/lessons", "core/ops", "core/term", "core/text", "core/filter", "views", "tui/darkbg", "core/bound"},
	"tui/plain":                        {"core/ops", "core/text", "core/filter", "core/follow", "views/lines", "tui"},
	"tui/console":                      {"core/lessons", "core/ops", "core/follow", "views/lines", "tui", "tui/plain"},
	"tui/darkbg":                       {},
}

// rooms whose imports are free within the rule of DESIGN.md, 2: everything of core but the console.
var wiring = map[string][]string{
	"core/gateway":       {"tui", "views", "core/control"},
	"cmd/gatewaytui":     {},
	"cmd/gatewaytui/e2e": {},
	"core":               {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "gatewaytui/...").Output()
	if err != nil {
		t.Fatalf("list the packages: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func TestDependenciesPointOneWay(t *testing.T) {
	const module = "gatewaytui/"
	for _, p := range list(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		allowed, strict := arrows[room]
		forbidden, free := wiring[room]
		if !strict && !free {
			t.Errorf("%s is a room that no arrow is drawn for: add it to arrows", room)
			continue
		}
		for _, imp := range p.Imports {
			target, ours := strings.CutPrefix(imp, module)
			switch {
			case ours && strict && !slices.Contains(allowed, target):
				t.Errorf("%s imports %s, which DESIGN.md, 2 does not allow", room, target)
			case ours && free && slices.Contains(forbidden, target):
				t.Errorf("%s imports %s, which DESIGN.md, 2 forbids", room, target)
			case ours && strings.HasPrefix(target, "fixtures/") && !strings.HasPrefix(room, "fixtures/"):
				t.Errorf("%s imports %s, which is for tests alone", room, imp)
			case strings.HasPrefix(imp, "github.com/charmbracelet/") && (room == "core" || strings.HasPrefix(room, "core/")):
				t.Errorf("%s imports %s: core imports nothing of Charm's", room, imp)
			case strings.HasPrefix(imp, "github.com/charmbracelet/bubbletea") && room != "tui":
				t.Errorf("%s imports %s: tui alone imports bubbletea", room, imp)
			}
		}
	}
}
