package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// Codes of the warnings.
const (
	WarnUnknownVariable = "config.unknown_variable"
	WarnNobodyAllowed   = "config.nobody_allowed"
)

// override lets the environment win over the file, and warns of variables that look like ours and are not.
func (l *Loaded) override(env map[string]string) {
	for _, k := range keys {
		text, set := env[k.env]
		if !set {
			continue
		}
		l.origins[k.name] = Origin{Variable: k.env}
		field := k.field(&l.Config)
		if want := assign(field, fromText(field, text)); want != "" {
			l.add(l.fault(wants(k.name, inText(want), text), k.name), k.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		isKey := func(k key) bool { return k.env == name }
		if strings.HasPrefix(name, envPrefix) && !slices.Contains(reserved, name) && !slices.ContainsFunc(keys, isKey) {
			shown := term.Clean(name, 80)
			l.warn(WarnUnknownVariable, fmt.Sprintf("unknown environment variable %s; did you mean %s?", shown, nearestVariable(shown)))
		}
	}
	for _, b := range l.Config.Adapters.EnabledBots() {
		if !b.AllowAll {
			l.warnAllow(b.Name, b.Allow)
		}
	}
}

// warnAllow warns of a bot whose people the config does not name, unless unknown users get a code.
func (l *Loaded) warnAllow(platform string, allow []string) {
	if len(allow) > 0 || l.Config.Access.Strangers == StrangersPair || slices.ContainsFunc(l.Config.Access.Owners, isOn(platform)) {
		return
	}
	l.warn(WarnNobodyAllowed, "adapters."+platform+".allow is empty, so the bot answers no user of the config; add user ids or access.owners, let people in with `gatewaytui people add`, or set allow_all")
}

func (l *Loaded) warn(code, message string) {
	l.Warnings = append(l.Warnings, ops.Warning{Code: code, Message: message, Since: ops.At(time.Now())})
}

// inText is what a value wants, said of a variable, where nothing stands in quotes or brackets.
func inText(want string) string {
	switch want {
	case wantStrings:
		return "a list such as a,b"
	case wantIDs:
		return "a list of ids such as U0123,4711"
	case wantInts:
		return "a list of whole numbers such as 4711,4712"
	}
	return strings.ReplaceAll(want, `"`, "")
}
