package config

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/core/environment/proxy/hosts"
)

// TR1, TR6, TR8: what is wrong about people, environments and budgets is said at the start, with where it stands.
func TestTR1_AWrongConfigOfTrustIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, key, says string }{
		{"an unknown way with unknown users", "[access]\nstrangers = \"welcome\"", "access.strangers", `"tell", "pair" or "ignore"`},
		{"an owner without a platform", "[access]\nowners = [\"4711\"]", "access.owners", `"telegram:4711"`},
		{"an unknown role of API callers", "[adapters.api]\nrole = \"root\"", "adapters.api.role", `"owner", "member" or "guest"`},
		{"an unknown way with approvals of the API", "[adapters.api]\napproval = \"ask\"", "adapters.api.approval", `"wait", "refuse", or empty`},
		{"an unknown role of a route", "[[routes]]\nmatch = \"telegram:*\"\nrole = \"boss\"", "routes[1].role", "owner, member or guest"},
		{"approvals that expire at once", "[approvals]\nexpire = \"0s\"", "approvals.expire", "over 0"},
		{"an unknown environment", "[agent]\nenvironment = \"bx\"\n[environments.box]", "agent.environment", `the nearest is "box"`},
		{"unknown approvals", "[agents.coder]\napprovals = \"never\"", "agents.coder.approvals", "fence, strict, or off"},
		{"an unknown budget", "[agent]\nbudget = \"big\"", "agent.budget", "must be default"},
		{"a variable that is not a name", "[agent]\nenv = [\"A*\"]", "agent.env", "names of variables"},
		{"a variable of the gateway", "[agent]\nenv = [\"GATEWAYTUI_LOG_LEVEL\"]", "agent.env", "names of variables"},
		{"an unknown kind", "[environments.box]\nkind = \"vm\"", "environments.box.kind", `"sandbox" or "container"`},
		{"a container without an image", "[environments.box]\nkind = \"container\"", "environments.box.image", "must name the image"},
		{"an image that is an option", "[environments.box]\nkind = \"container\"\nimage = \"--privileged\"", "environments.box.image", "name of an image"},
		{"a container with a list of hosts", "[environments.box]\nkind = \"container\"\nimage = \"a\"\nnetwork = [\"pypi.org\"]", "environments.box.network", "sandbox alone"},
		{"a network that is a word", "[environments.box]\nnetwork = \"off\"", "environments.box.network", "true, false, or a list of hosts"},
		{"a host with a scheme", "[environments.box]\nnetwork = [\"https://pypi.org\"]", "environments.box.network", `the host "https://pypi.org": `},
		{"a host that is a pattern of all", "[environments.box]\nnetwork = [\"*\"]", "environments.box.network", "it is not a host name"},
		{"a relative path", "[environments.box]\nread = [\"etc\"]", "environments.box.read", "absolute paths"},
		{"a path that is everything", "[environments.box]\nwrite = [\"/\"]", "environments.box.write", "absolute paths"},
		{"no memory", "[environments.box]\nmemory_max = \"1MiB\"", "environments.box.memory_max", "at least"},
		{"no processes", "[environments.box]\npids_max = 1", "environments.box.pids_max", "from 8"},
		{"no cores", "[environments.box]\ncpu_max = 0", "environments.box.cpu_max", "from 0.01"},
		{"an unknown fallback", "[environments.box]\nfallback = \"none\"", "environments.box.fallback", `"landlock"`},
		{"a budget in two currencies", "[budget]\ncurrency = \"USD, EUR\"", "budget.currency", "this one currency"},
		{"a currency of its own", "[budgets.default]\ncurrency = \"EUR\"", "", "unknown key"},
		{"an unknown zone", "[budget]\nzone = \"Europe/Wien\"", "budget.zone", "time zone"},
		{"the zone of the machine", "[budget]\nzone = \"Local\"", "budget.zone", "time zone"},
		{"a budget below zero", "[budgets.default]\nper_day = -1", "budgets.default.per_day", "from 0"},
		{"a budget that is not a number", "[budgets.default]\nper_month = nan", "budgets.default.per_month", "must be a number"},
		{"a price that is not a number", "[model]\nprice_out = nan", "model.price_out", "must be a number"},
		{"an unknown budget of an agent", "[agents.a]\nbudget = \"defualt\"", "agents.a.budget", "\"default\""},
		{"a price below zero", "[model]\nprice_in = -0.5", "model.price_in", "from 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.text+"\n")
			wrong := refusal(t, err)
			if c.key != "" && wrong.Key != c.key || !strings.Contains(wrong.Error(), c.says) {
				t.Errorf("%q about the key %q, want the key %q and %q", wrong.Error(), wrong.Key, c.key, c.says)
			}
		})
	}
}

// TR6, TR8: what a config does not say has the defaults of the contract.
func TestTR6_TheDefaultsOfTrust(t *testing.T) {
	l, err := load(t, "[access]\nowners = [\"irc:[a]`^!~a@2001:db8::1\", \"mail:o'brien@example.org\"]\n[environments.box]\nnetwork = [\"pypi.org\", \"*.github.com\"]\n[budgets.cheap]\nper_day = 1\n")
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	if len(c.Access.Owners) != 2 {
		t.Errorf("the owners are %q", c.Access.Owners)
	}
	if d := c.Agent.Definition; d.Environment != "auto" || d.Approvals != "fence" || d.Budget != "default" {
		t.Errorf("the agent default is %+v", d)
	}
	if e := c.EnvironmentOf("box"); e.Kind != "sandbox" || !slices.Equal(e.Network.Hosts, []string{"pypi.org", "*.github.com"}) || e.MemoryMax != 2<<30 {
		t.Errorf("the environment box is %+v", e)
	}
	if e := c.EnvironmentOf("auto"); e.PidsMax != 512 || e.CPUMax != 2 || e.Network.All {
		t.Errorf("the environment auto is %+v", e)
	}
	all := c.BudgetsByName()
	if b := all["default"]; b == nil || b.PerTurn != 1 || b.PerDay != 10 || b.PerMonth != 100 || b.TokensPerDay != 3_000_000 {
		t.Errorf("the budget default is %+v", b)
	}
	if b := all["cheap"]; b == nil || b.PerDay != 1 || b.PerTurn != 1 {
		t.Errorf("the budget cheap is %+v", b)
	}
}

// TR6: a list of hosts is refused at the start exactly when the proxy of the first command would refuse it.
func TestTR6_TheConfigAndTheProxyTakeTheSameHosts(t *testing.T) {
	for _, c := range []struct {
		name, host string
		taken      bool
	}{
		{"a name", "pypi.org", true},
		{"capitals are the same name", "PyPI.org", true},
		{"a final dot is the same name", "pypi.org.", true},
		{"a name of one label", "registry", true},
		{"a name with a low line", "_sip.example", true},
		{"names below a name", "*.github.com", true},
		{"names below a name at a port", "*.github.com:8443", true},
		{"the highest port", "pypi.org:65535", true},
		{"an address", "10.0.0.5", true},
		{"an address with a port", "10.0.0.5:8080", true},
		{"an address of IPv6", "[fd00::5]", true},
		{"an address of IPv6 with a port", "[fd00::5]:8080", true},
		{"nothing", "", false},
		{"every host", "*", false},
		{"a whole top-level domain", "*.com", false},
		{"a star inside of a name", "a.*.com", false},
		{"a short form of an address", "127.1", false},
		{"a number that is an address", "2130706433", false},
		{"an address in base 16", "0x7f000001", false},
		{"names below an address", "*.10.0.0.1", false},
		{"an address of IPv6 without brackets", "fd00::5", false},
		{"an address with a zone", "[fe80::1%eth0]", false},
		{"a port above 65535", "pypi.org:99999", false},
		{"the port 0", "pypi.org:0", false},
		{"a port that is empty", "pypi.org:", false},
		{"a path", "pypi.org/simple", false},
		{"a user", "user@pypi.org", false},
		{"a letter outside of ASCII", "bücher.example", false},
		{"a label of 64 letters", strings.Repeat("a", 64) + ".org", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, "[environments.box]\nnetwork = ["+strconv.Quote(c.host)+"]\n")
			_, refused := hosts.Parse([]string{c.host})
			if (err == nil) != c.taken || (refused == nil) != c.taken {
				t.Fatalf("the config says %v, the proxy %v", err, refused)
			}
			if err != nil {
				if wrong := refusal(t, err); wrong.Key != "environments.box.network" || !strings.Contains(wrong.Error(), refused.Error()) {
					t.Errorf("%q about the key %q, and the proxy says %q", wrong.Error(), wrong.Key, refused.Error())
				}
			}
		})
	}
}
