package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gatewaytui/core/importer/statedb"
	"gatewaytui/core/text"
)

// What Hermes has in its home (hermes-agent.nousresearch.com, "Configuration", "Which file does what").
const (
	hermesConfig = "config.yaml"
	hermesEnv    = ".env"
	hermesState  = "state.db"
	hermesKeys   = "sessions/sessions.json"
)

// stateBound is how long the database of Hermes may take to be read.
const stateBound = 30 * time.Second

func readHermes(ctx context.Context, p *Plan) {
	p.document("SOUL.md", "SOUL.md", "")
	p.document("AGENTS.md", "AGENTS.md", "")
	p.document("memories/USER.md", "USER.md", "the agent reads it when it needs it: mention it in AGENTS.md")
	p.skills("skills", 0)
	p.hermesVariables()
	p.memories("memories/MEMORY.md")
	p.hermesModel()
	zone := ""
	if data, err := p.content(hermesConfig, maxConfig); err == nil {
		if conf, err := parseYAML(data); err == nil {
			zone = conf.text("timezone")
		}
	}
	p.jobs(jobsFile, hermesJob(zone))
	if _, err := p.root.Stat("auth.json"); err == nil {
		p.secret("auth.json", "")
	}
	p.hermesTalks(ctx)
}

// hermesVariables takes the lists of .env, and names its secrets.
func (p *Plan) hermesVariables() {
	data, found := p.read(Other, hermesEnv, maxConfig)
	if !found {
		return
	}
	variables := parseEnv(data)
	for _, v := range variables {
		from := hermesEnv + " " + v.name
		switch v.name {
		case "TELEGRAM_ALLOWED_USERS":
			p.allow(from, "telegram", "adapters.telegram.allow", strings.Split(v.value, ","))
		case "DISCORD_ALLOWED_USERS":
			p.allow(from, "discord", "adapters.discord.allow", strings.Split(v.value, ","))
		case "TELEGRAM_HOME_CHANNEL":
			if isNumber(v.value) {
				p.set(Person, from, v.value, "adapters", "telegram", "home")
			}
		case "TELEGRAM_BOT_TOKEN":
			p.secret(from, "TELEGRAM_BOT_TOKEN")
		case "DISCORD_BOT_TOKEN":
			p.secret(from, "DISCORD_TOKEN")
		case "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY":
			p.secret(from, v.name)
		default:
			switch {
			case strings.HasSuffix(v.name, "_ALLOWED_USERS"):
				p.leave(Person, from, "this platform is not here")
			case strings.HasSuffix(v.name, "_KEY"), strings.HasSuffix(v.name, "_TOKEN"), strings.HasSuffix(v.name, "_SECRET"), strings.HasSuffix(v.name, "_PASSWORD"):
				p.secret(from, "")
			}
		}
	}
}

// variable is one line of a .env file.
type variable struct{ name, value string }

// parseEnv reads lines NAME=value, with export in front and quotes around the value, as shells have them.
func parseEnv(data []byte) (all []variable) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxConfig)
	for lines.Scan() {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export ")
		name, value, is := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !is || !isID(name) {
			continue
		}
		value = strings.TrimSpace(value)
		if quote := value; len(quote) >= 2 && (quote[0] == '"' || quote[0] == '\'') && quote[len(quote)-1] == quote[0] {
			value = quote[1 : len(quote)-1]
		}
		if value != "" {
			all = append(all, variable{name, value})
		}
	}
	return all
}

// hermesModel takes the model of config.yaml.
func (p *Plan) hermesModel() {
	data, found := p.read(Model, hermesConfig, maxConfig)
	if !found {
		return
	}
	conf, err := parseYAML(data)
	if err != nil {
		p.leave(Model, hermesConfig, "cannot be parsed: "+err.Error())
		return
	}
	provider, name, base := conf.text("model", "provider"), conf.text("model", "default"), conf.text("model", "base_url")
	if name == "" {
		name = conf.text("model")
	}
	if first, rest, is := strings.Cut(name, "/"); is && (provider == "" || provider == "auto") && base == "" {
		provider, name = first, rest
		if first != "anthropic" && first != "openai" {
			provider, name = "openrouter", first+"/"+rest
		}
	}
	if conf.text("model", "api_key") != "" {
		p.secret(hermesConfig+" model.api_key", "")
	}
	p.model(hermesConfig+" model", provider, name, base)
	if conf.table("mcp_servers") != nil {
		p.leave(Other, hermesConfig+" mcp_servers", "there is no place for servers yet")
	}
}

// hermesTalks takes the conversations of state.db whose chat is known.
func (p *Plan) hermesTalks(ctx context.Context) {
	fi, err := p.root.Lstat(hermesState)
	switch {
	case err != nil:
		return
	case !fi.Mode().IsRegular():
		p.leave(Conversation, hermesState, "it is not a regular file")
		return
	}
	if wal, err := p.root.Stat(hermesState + "-wal"); err == nil && wal.Size() > 0 {
		p.leave(Conversation, hermesState, "Hermes has it open, or was killed: stop Hermes, so that it closes the database")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stateBound)
	defer cancel()
	if err := p.readState(ctx); err != nil {
		p.leave(Conversation, hermesState, "cannot be read: "+err.Error())
	}
}

// readState reads the sessions and messages of the database.
func (p *Plan) readState(ctx context.Context) error {
	db, err := statedb.Open(filepath.Join(p.root.Name(), hermesState))
	if err != nil {
		return err
	}
	defer db.Close()
	sessions, err := db.Sessions(ctx, maxItems)
	if err != nil {
		return err
	}
	keys, taken, elsewhere := p.hermesSessionKeys(), map[string]bool{}, 0
	for _, s := range sessions {
		key := strings.TrimPrefix(cmp.Or(s.Key, keys[s.ID]), "agent:main:")
		from := hermesState + " " + s.ID
		switch {
		case !chatKey(key) || strings.HasPrefix(key, "discord:"): // Hermes has the channel in a direct message's key, and here it is the user
			elsewhere++
		case taken[key]:
			p.leave(Conversation, from, "an earlier conversation of "+key)
		default:
			rows, err := db.Messages(ctx, s.ID, maxMessages, maxText+1)
			if err != nil {
				return fmt.Errorf("read session %s: %w", s.ID, err)
			}
			var messages []message
			for _, m := range rows {
				if m, is := said(m.Role, m.Content, m.At); is {
					messages = append(messages, m)
				}
			}
			taken[key] = len(messages) > 0
			p.take(from, key, "hermes:"+s.ID, messages, 0)
		}
	}
	if elsewhere > 0 {
		p.leave(Conversation, hermesState, text.Count(elsewhere, "session")+" of no chat of a platform that is here, or of a chat of several people")
	}
	return nil
}

// hermesSessionKeys are the keys of sessions by their ids, from the file that earlier versions have.
func (p *Plan) hermesSessionKeys() map[string]string {
	keys := map[string]string{}
	data, found := p.read(Conversation, hermesKeys, maxTranscript)
	if !found {
		return keys
	}
	var all map[string]struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		p.leave(Conversation, hermesKeys, "cannot be parsed: "+err.Error())
	}
	for key, s := range all {
		if s.ID != "" {
			keys[s.ID] = key
		}
	}
	return keys
}
