package service

import (
	"strings"
	"testing"
)

func TestEachHomeHasAServiceOfItsOwnName(t *testing.T) {
	const usual = "/home/ada/.local/state/gatewaytui"
	for _, tt := range []struct{ name, home, want string }{
		{"the default home", usual, "gatewaytui"},
		{"the same, written otherwise", usual + "/../gatewaytui/", "gatewaytui"},
		{"another one shows its folder", "/srv/bots", "gatewaytui-bots-019ed951"},
		{"one of the same folder name elsewhere", "/srv/more/bots", "gatewaytui-bots-"},
		{"one that is called as the default one", "/srv/gatewaytui", "gatewaytui-gatewaytui-"},
		{"what a unit cannot be called is left out", "/srv/my bots; rm -rf ~", "gatewaytui-my_bots__rm_-rf__-"},
		{"characters of other scripts", "/srv/größe", "gatewaytui-gr__e-"},
		{"a folder with a long name", "/srv/" + strings.Repeat("x", 300), "gatewaytui-" + strings.Repeat("x", 40) + "-"},
		{"the root", "/", "gatewaytui-_-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Name(tt.home, usual)
			if got != tt.want && (!strings.HasSuffix(tt.want, "-") || !strings.HasPrefix(got, tt.want) || len(got) != len(tt.want)+hashShown) {
				t.Errorf("%s is served by %q, want %q", tt.home, got, tt.want)
			}
		})
	}
}

func FuzzName(f *testing.F) {
	f.Add("bots", "/srv/bots ")
	f.Add("\xff", "../../etc")
	f.Add("a.service", "-")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = "/"+a, "/"+b
		for _, home := range []string{a, b} {
			name := Name(home, "/home/ada/gw")
			if !isUnit(name+".service") || len(name) > 64 || Name(home, "/home/ada/gw") != name {
				t.Errorf("%q is served by %q", home, name)
			}
			for _, k := range []Kind{Systemd, Launchd} {
				if at, ours := NameAt(k, InstallPath(k, true, name, "", "")); at != name || !ours {
					t.Errorf("the definition of %q is not known again: %q, %v", name, at, ours)
				}
			}
		}
		if Name(a, "/x") == Name(b, "/x") && Name(a, b) != DefaultName {
			t.Errorf("%q and %q are served by one service", a, b)
		}
	})
}

func TestWhereADefinitionIsInstalled(t *testing.T) {
	for _, tt := range []struct {
		kind       Kind
		system     bool
		name       string
		configHome string
		want       string
	}{
		{Systemd, false, DefaultName, "", "/home/ada/.config/systemd/user/gatewaytui.service"},
		{Systemd, false, "gatewaytui-bots-1", "", "/home/ada/.config/systemd/user/gatewaytui-bots-1.service"},
		{Systemd, false, DefaultName, "/cfg", "/cfg/systemd/user/gatewaytui.service"},
		{Systemd, false, DefaultName, "cfg", "/home/ada/.config/systemd/user/gatewaytui.service"},
		{Systemd, true, DefaultName, "/cfg", "/etc/systemd/system/gatewaytui.service"},
		{Launchd, false, DefaultName, "", "/home/ada/Library/LaunchAgents/gatewaytui.plist"},
		{Launchd, true, "gatewaytui-bots-1", "", "/Library/LaunchDaemons/gatewaytui-bots-1.plist"},
	} {
		if got := InstallPath(tt.kind, tt.system, tt.name, "/home/ada", tt.configHome); got != tt.want {
			t.Errorf("%s, system %v, %q: %s, want %s", tt.kind, tt.system, tt.configHome, got, tt.want)
		}
	}
}

func TestOtherServicesAreNotTakenForOurs(t *testing.T) {
	for path, want := range map[string]bool{
		"/u/gatewaytui.service": true, "/u/gatewaytui-bots-1.service": true,
		"/u/gatewaytui.service.old": false, "/u/gatewaytuix.service": false, "/u/sshd.service": false, "/u/gatewaytui.timer": false,
		"/u/gatewaytui-a b.service": false, "/u/gatewaytui.plist": false,
	} {
		if _, ours := NameAt(Systemd, path); ours != want {
			t.Errorf("%s is our service: %v", path, ours)
		}
	}
}
