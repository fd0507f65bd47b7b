package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// External is each of [adapters.NAME] whose name is that of no platform of the gateway: a chat platform that is a program
// (core/adapter/external/PROTOCOL.md).
type External struct {
	Enabled bool     `toml:"enabled" default:"true" doc:"run the program"`
	Command []string `toml:"command" default:"" doc:"the program and its arguments, such as [\"gatewaytui-mattermost\"]: an absolute path, or a name in PATH. It runs in adapters/NAME of the home"`
	EnvPass []string `toml:"env_pass" default:"" doc:"variables of the gateway's environment that it sees in addition to those of tools.env_pass, each by its whole name: its credentials"`
	ChatKeys
	Settings Settings `toml:"settings" default:"" doc:"what the program gets as it stands here, best as the table [adapters.NAME.settings]: at most 64 KiB of texts, numbers, switches, lists and tables. Secrets do not belong here"`
}

// maxSettings bounds the settings of an external adapter as JSON, in bytes.
const maxSettings = 64 << 10

// WarnSecretSetting is the code of the warning that a setting of an external adapter looks like a secret.
const WarnSecretSetting = "config.secret_setting"

var (
	externalName = text.Lazily(`^[a-z][a-z0-9-]{0,31}$`)
	// externalKey is the key of a session of an external adapter: of a thread, of a group or a member of it, or of a person.
	externalKey = text.Lazily(`^[a-z][a-z0-9-]*:(?:(?:dm:.+?:)?thread:(.+)|group:(.+?)(?::user:.+)?|dm:.+)$`)
	// chatEscape makes a chat a target, in which the message that is answered stands behind a #.
	chatEscape = strings.NewReplacer("%", "%25", "#", "%23")
)

// ownNames stand before the colon in keys of sessions that belong to no platform.
var ownNames = []string{"cli", "job"}

// platformNames are the tables of the platforms of the gateway.
func platformNames() (names []string) {
	for _, s := range sections {
		if name, is := strings.CutPrefix(s.name, externals+"."); is && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// externals is the name of the family of external adapters.
const externals = "adapters"

// isExternal reports whether an external adapter can have this name.
func isExternal(name string) bool {
	return externalName().MatchString(name) && !slices.Contains(ownNames, name) && !slices.Contains(platformNames(), name)
}

// unknownPlatform says that a table of [adapters] is of no platform of the gateway and has no command; nil: it has one.
func (l *Loaded) unknownPlatform(name, own string, table any) *Error {
	if keys, is := table.(map[string]any); !is || keys["command"] != nil {
		return nil
	}
	path := keyName([]string{externals, own})
	meant := text.Suggest(own, platformNames())
	if meant != "" {
		e := l.fault("unknown table "+path, name)
		e.Key, e.Nearest = path, externals+"."+meant
		return e
	}
	e := l.fault(fmt.Sprintf("%s must have the key command: it is none of the gateway's platforms (%s), so it needs a program", path, english.WordSeries(platformNames(), "and")), name)
	e.Key = path
	return e
}

func (e External) bot(name string) Bot {
	b := e.ChatKeys.bot(name, name, e.Enabled)
	b.Homed = func(home string) (Home, bool) { return externalHome(name, home) }
	return b
}

// externalHome reads a home chat: its id, or the key of a session. The key of a person does not say which chat that is.
func externalHome(name, home string) (h Home, is bool) {
	key := externalKey().FindStringSubmatch(home)
	own := strings.HasPrefix(home, name+":")
	switch {
	case key == nil && !own:
		return Home{Session: name + ":group:" + home, Target: chatEscape.Replace(home)}, true
	case key == nil || !own:
		return h, false
	}
	return Home{Session: home, Target: chatEscape.Replace(key[1] + key[2])}, true // one of the two is empty
}

// externalBots are the external adapters, by name.
func (a Adapters) externalBots() (all []Bot) {
	for _, name := range Names(a.External) {
		all = append(all, a.External[name].bot(name))
	}
	return all
}

// SecretVariables are the variables of env_pass that are named like a secret. Other children do not see them unless tools.env_pass names them.
func (e External) SecretVariables() (names []string) {
	for _, variable := range e.EnvPass {
		if term.SecretName(variable) {
			names = append(names, variable)
		}
	}
	return names
}

// secrets are the variables of an external adapter that are named like a secret, and its settings that look like one, which
// are masked as others.
func (e External) secrets(name string, read func(env string) Credential) map[string]Credential {
	all := map[string]Credential{}
	for _, variable := range e.SecretVariables() {
		all[variable] = read(variable)
	}
	for key, value := range e.Settings.secrets() {
		key = "settings." + key
		all[key] = Credential{Value: value, Source: externals + "." + name + "." + key}
	}
	return all
}

// validateExternals checks what external adapters alone have.
func (l *Loaded) validateExternals() {
	secret := l.Config.SecretVariables()
	for _, name := range Names(l.Config.Adapters.External) {
		e := l.Config.Adapters.External[name]
		table := keyName([]string{externals, name})
		program := slices.Concat(e.Command, []string{""})[0]
		var keys []complaint
		for _, variable := range e.EnvPass {
			keys = append(
				keys,
				complaint{!VariableName(variable) || strings.HasPrefix(variable, envPrefix), "env_pass", "must hold names of variables, without * and not of this program, not " + quote(variable)},
				complaint{slices.Contains(secret, variable), "env_pass", fmt.Sprintf("must not hold %s, in which the config has a secret of the gateway; name another variable", quote(variable))},
			)
		}
		size, _ := json.Marshal(e.Settings) // set has taken what JSON can write
		keys = append(
			keys,
			complaint{program == "", "command", "must begin with the program, such as [\"gatewaytui-" + name + "\"]"},
			complaint{strings.Contains(program, "/") && !filepath.IsAbs(program), "command", "must begin with an absolute path, or with the name of a program in PATH, not " + quote(program)},
			complaint{len(size) > maxSettings, "settings", fmt.Sprintf("is longer than %s", Size(maxSettings))},
		)
		l.complain(table, keys...)
		if looks := slices.Sorted(maps.Keys(e.Settings.secrets())); len(looks) > 0 {
			l.warn(WarnSecretSetting, fmt.Sprintf("%s.settings: %s %s like a secret, and other programs may read this file; put it into an environment variable and name that in %s.env_pass",
				table, term.Clean(text.Some(looks, maxNamed), 300), text.Plural(len(looks), "looks", "look"), table))
		}
	}
}
