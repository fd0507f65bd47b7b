package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gatewaytui/core/text"
)

// Matrix is [adapters.matrix].
type Matrix struct {
	Homeserver string `toml:"homeserver" doc:"the address of the bot's homeserver, e.g. \"https://matrix.example.org\""`
	User       string `toml:"user" doc:"the bot's user id, e.g. \"@bot:example.org\"; empty: the one that the token belongs to"`
	TokenEnv   string `toml:"token_env" default:"MATRIX_TOKEN" doc:"the environment variable that holds an access token of the bot"`
	TokenFile  string `toml:"token_file" doc:"a file that holds it instead"`
	BotKeys
}

// What names people, rooms and chats of Matrix (https://spec.matrix.org/latest/appendices/#identifier-grammar).
var (
	matrixUser = text.Lazily(`^@[A-Za-z0-9._=+-]+:[A-Za-z0-9.:\[\]-]+$`)
	matrixRoom = text.Lazily(`^![A-Za-z0-9._~=+-]+(?::[A-Za-z0-9.:\[\]-]+)?$`)
	// matrixChat is a room, and the first message of a thread in it.
	matrixChat = text.Lazily(`^(![^\s/#$]+)(?:/(\$[^\s#]+))?$`)
	// matrixGroup is the key of the session of a room, of a thread or of a member.
	matrixGroup = text.Lazily(`^matrix:group:(![^\s/#$]+?)(?::thread:(\$[^\s#]+?))?(?::user:@\S+)?$`)
	matrixDM    = text.Lazily(`^matrix:dm:@\S+$`)
)

func (m Matrix) bot() Bot {
	b := m.BotKeys.bot("matrix", "Matrix")
	b.BaseURL, b.BaseKey, b.Homed = m.Homeserver, "homeserver", matrixHome
	b.Secrets = []SecretPlace{{Key: "token", Env: m.TokenEnv, File: m.TokenFile}}
	return b
}

// matrixHome reads a chat: the id of a room, that and the id of a thread, or the key of a session.
func matrixHome(text string) (h Home, is bool) {
	if matrixDM().MatchString(text) {
		return Home{Session: text}, true
	}
	session := text
	found := matrixGroup().FindStringSubmatch(text)
	if found == nil {
		if found = matrixChat().FindStringSubmatch(text); found == nil {
			return h, false
		}
		session = "matrix:group:" + strings.Replace(text, "/", ":thread:", 1)
	}
	if !matrixRoom().MatchString(found[1]) {
		return h, false
	}
	h = Home{Session: session, Target: found[1]}
	if found[2] != "" {
		h.Target += "/" + found[2]
	}
	return h, true
}

// matrixRules are the rules about [adapters.matrix].
var matrixRules = []rule{
	httpURL("adapters.matrix.homeserver"),
	holds("must be the address of the bot's homeserver", func(c *Config) bool {
		return !c.Adapters.Matrix.Enabled || c.Adapters.Matrix.Homeserver != ""
	}, "adapters.matrix.homeserver", "adapters.matrix.enabled"),
	mustBe("adapters.matrix.user", `a user id such as "@bot:example.org", or empty`, func(user string) bool { return user == "" || matrixUser().MatchString(user) }),
	{[]string{"adapters.matrix.allow"}, func(c *Config) string {
		return notLike(matrixUser, c.Adapters.Matrix.Allow, `user ids such as "@alice:example.org"`)
	}},
	{[]string{"adapters.matrix.groups"}, func(c *Config) string {
		return notLike(matrixRoom, c.Adapters.Matrix.Groups, `ids of rooms such as "!abc:example.org", which the settings of a room show`)
	}},
}

// notLike says that one of the ids does not have its form; empty: all have it.
func notLike(form func() *regexp.Regexp, ids IDs, what string) string {
	if i := slices.IndexFunc(ids, func(id string) bool { return !form().MatchString(id) }); i >= 0 {
		return fmt.Sprintf("must hold %s, not %s", what, quote(ids[i]))
	}
	return ""
}
