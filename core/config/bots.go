package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bot is one chat platform as the config has it, with what all of them have.
type Bot struct {
	// Name is that of the platform: its table is adapters.NAME. Title is the name for people.
	Name, Title string
	Enabled     bool
	// Allow are the ids of the people who may use it, AllowAll lets everyone. Numbers means that these ids are numbers.
	Allow             []string
	AllowAll, Numbers bool
	// BaseURL is the platform's API; empty: it is not spoken to over HTTP. BaseKey is its key in the table; empty: base_url.
	BaseURL, BaseKey string
	// Mention is which messages of groups it answers; empty: MentionRequired.
	Mention string
	// Teardown bounds its end, within shutdown.adapter_timeout; 0: only that does.
	Teardown time.Duration
	// Secrets are where its credentials are.
	Secrets []SecretPlace
	// HomeText is the key home as it was written, and Homed reads such a text: false for one that is no chat of this platform.
	HomeText string
	Homed    func(home string) (Home, bool)
}

// SecretPlace says where a credential is. A credential that is not Optional must have a place.
type SecretPlace struct {
	// Key is what the credential is: the keys of the table are KEY_env and KEY_file, as far as there are such.
	Key string
	// Env is the name of the variable, File that of the file.
	Env, File string
	Optional  bool
}

// named reports whether the config names a place.
func (p SecretPlace) named() bool { return p.Env != "" || p.File != "" }

// Asked is a key of a chat platform that only its operator can fill in.
type Asked struct {
	// Name is the key in the platform's table, Doc what it is.
	Name, Doc string
}

// Asked are the texts of the platform's table that have no default, without those that all platforms have and the places of credentials.
func (b Bot) Asked() (all []Asked) {
	table := "adapters." + b.Name
	for _, k := range keys {
		name := lastPart(k.name)
		isText := reflect.TypeFor[Config]().FieldByIndex(k.index).Type.Kind() == reflect.String
		isPlace := slices.ContainsFunc(b.Secrets, func(s SecretPlace) bool { return name == s.Key+"_env" || name == s.Key+"_file" })
		if k.section() == table && isText && !k.set && !isPlace && name != "home" {
			all = append(all, Asked{name, k.doc})
		}
	}
	return all
}

// botTable is a table of the config that has a chat platform.
type botTable interface{ bot() Bot }

// Bots are the chat platforms, in the order of their tables, then the external adapters by name.
func (a Adapters) Bots() []Bot {
	var all []Bot
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		if t, is := v.Field(i).Interface().(botTable); is {
			all = append(all, t.bot())
		}
	}
	return append(all, a.externalBots()...)
}

// Bot is the chat platform of this name; false: the config knows no such one.
func (a Adapters) Bot(name string) (Bot, bool) {
	all := a.Bots()
	at := slices.IndexFunc(all, func(b Bot) bool { return b.Name == name })
	if at < 0 {
		return Bot{}, false
	}
	return all[at], true
}

// EnabledBots are those that are enabled.
func (a Adapters) EnabledBots() []Bot {
	return slices.DeleteFunc(a.Bots(), func(b Bot) bool { return !b.Enabled })
}

// OnlyEnabled is a without what the tables of disabled platforms say.
func (a Adapters) OnlyEnabled() Adapters {
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Struct && !f.FieldByName("Enabled").Bool() {
			f.SetZero()
		}
	}
	a.External = maps.Clone(a.External)
	maps.DeleteFunc(a.External, func(_ string, e *External) bool { return !e.Enabled })
	return a
}

// BotKeys are the keys that the tables of chat platforms have in common.
type BotKeys struct {
	Enabled bool `toml:"enabled" doc:"run the bot"`
	ChatKeys
}

// ChatKeys are those of them that external adapters have too.
type ChatKeys struct {
	Allow    IDs      `toml:"allow" default:"" doc:"ids of people who may use the bot; if empty, no user may, unless allow_all is set"`
	AllowAll bool     `toml:"allow_all" doc:"let everyone speak to it"`
	Groups   IDs      `toml:"groups" default:"" doc:"ids of the groups and channels in which it listens; in others it says nothing"`
	Home     string   `toml:"home" doc:"the chat that gets the gateway's own notices: its id, or a session key; empty: none does"`
	Mention  string   `toml:"mention" default:"required" doc:"which messages of these groups it answers: \"required\" those that name it, answer it or are commands; \"always\" every one; \"never\" only commands. chat.mention of a route counts first"`
	Teardown Duration `toml:"teardown" doc:"how long its end may take; \"0\": as long as shutdown.adapter_timeout, which bounds it in any case"`
}

// bot is a Bot with these keys.
func (k BotKeys) bot(name, title string) Bot { return k.ChatKeys.bot(name, title, k.Enabled) }

func (k ChatKeys) bot(name, title string, enabled bool) Bot {
	return Bot{
		Name: name, Title: title, Enabled: enabled, Allow: k.Allow, AllowAll: k.AllowAll, Mention: k.Mention, Teardown: k.Teardown.Duration,
		HomeText: k.Home,
	}
}

// IDs are the names that a platform gives to people and chats. In the file each is a text or a whole number.
type IDs []string

// String writes the ids as TOML has them.
func (ids IDs) String() string { return literalStrings(ids) }

// set takes over a decoded TOML value; ok is false for one of another type.
func (ids *IDs) set(value any) (ok bool) {
	items, ok := value.([]any)
	all := make(IDs, 0, len(items))
	for _, item := range items {
		switch id := item.(type) {
		case string:
			all = append(all, id)
		case int64:
			all = append(all, strconv.FormatInt(id, 10))
		default:
			return false
		}
	}
	*ids = all
	return ok
}

// numbers writes ids as texts.
func numbers(ids []int64) (texts []string) {
	for _, id := range ids {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	return texts
}

// validateBots checks what all chat platforms have.
func (l *Loaded) validateBots() {
	for _, b := range l.Config.Adapters.Bots() {
		table := "adapters." + b.Name
		keys := []complaint{
			{b.HomeText != "" && !b.isHome(b.HomeText), "home", "must be the id of a chat, a session key such as " + strconv.Quote(b.Name+":dm:ID") + ", or empty, not " + quote(b.HomeText)},
			{b.Mention != "" && !slices.Contains(mentions, b.Mention), "mention", fmt.Sprintf("must be %q, %q or %q, not %s", MentionRequired, MentionAlways, MentionNever, quote(b.Mention))},
			{b.Teardown < 0, "teardown", "must not be negative"},
			{slices.Contains(b.Allow, ""), "allow", "has an empty id"},
		}
		for _, s := range b.Secrets {
			keys = append(keys, complaint{b.Enabled && !s.Optional && !s.named(), s.Key + "_env", "must say where the credential is: the name of an environment variable"})
		}
		l.complain(table, keys...)
	}
}

// mentions are the values of mention.
var mentions = []string{MentionRequired, MentionAlways, MentionNever}

func (b Bot) isHome(text string) bool {
	if b.Homed == nil {
		return false
	}
	_, is := b.Homed(text)
	return is
}

// secretPlaces are where the credentials of all chat platforms are.
func (a Adapters) secretPlaces() (all []SecretPlace) {
	for _, b := range a.Bots() {
		all = append(all, b.Secrets...)
	}
	return all
}

// Missing is the first credential of the chat platform b that it needs and that is not there; false: none is missing.
func (c Credentials) Missing(b Bot) (Credential, bool) {
	for _, place := range b.Secrets {
		if one := c.Bots[b.Name][place.Key]; one.Missing() || !place.Optional && one.Value == "" {
			return one, true
		}
	}
	return Credential{}, false
}

// isOwnerOn reports whether who is a person of this platform.
func isOn(platform string) func(who string) bool {
	return func(who string) bool { return strings.HasPrefix(who, platform+":") }
}
