package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// What OpenClaw has in its state folder (docs.openclaw.ai, "Where things live on disk", "Agent workspace", "Configuration reference").
const (
	clawConfig    = "openclaw.json" // JSON5
	clawWorkspace = "workspace"
	clawSessions  = "sessions.json" // of agents/ID/sessions
)

// clawDocuments are the files of a workspace that make a persona. Where why is not empty the file is not in every prompt here.
var clawDocuments = []struct{ name, why string }{
	{"SOUL.md", ""},
	{"AGENTS.md", ""},
	{"USER.md", "the agent reads it when it needs it: mention it in AGENTS.md"},
	{"IDENTITY.md", "the agent reads it when it needs it: mention it in AGENTS.md"},
	{"TOOLS.md", "the agent reads it when it needs it: mention it in AGENTS.md"},
}

func readOpenClaw(ctx context.Context, p *Plan) {
	data, found := p.read(Other, clawConfig, maxConfig)
	conf := tree{}
	if found {
		var err error
		if conf, err = parseJSON5(data); err != nil {
			p.leave(Other, clawConfig, "cannot be parsed: "+err.Error())
		}
	}
	p.clawWorkspace(conf)
	p.skills("skills", 0)
	p.clawPeople(conf)
	p.clawModel(conf)
	p.clawSecrets(conf)
	p.jobs(jobsFile, clawJob)
	p.jobs("cron.json", clawJob)
	for _, agent := range p.entries("agents") {
		if ctx.Err() == nil && agent.IsDir() {
			p.clawTalks(ctx, agent.Name())
		}
	}
}

// clawWorkspace takes persona and skills of the workspace.
func (p *Plan) clawWorkspace(conf tree) {
	dir := clawWorkspace
	for _, named := range []string{conf.text("agents", "defaults", "workspace"), conf.text("agent", "workspace")} {
		if named == "" {
			continue
		}
		inside, ok := p.within(named)
		if !ok {
			p.leave(Other, named, "the workspace is outside of the folder: copy it into it as "+clawWorkspace+" first")
			return
		}
		dir = inside
		break
	}
	for _, d := range clawDocuments {
		p.document(path.Join(dir, d.name), d.name, d.why)
	}
	if _, err := p.root.Stat(path.Join(dir, "HEARTBEAT.md")); err == nil {
		p.leave(Job, path.Join(dir, "HEARTBEAT.md"), "it has no times: write its text as the prompt of a job, [jobs.NAME]")
	}
	p.own(clawConfig+" commands.ownerAllowFrom", conf.list("commands", "ownerAllowFrom")) // the memories are an owner's
	for _, name := range []string{"MEMORY.md", "memory.md", "memory"} {
		p.memories(path.Join(dir, name))
	}
	p.skills(path.Join(dir, "skills"), 0)
	agents, _ := conf.at("agents", "list").([]any)
	for _, one := range agents {
		if name := (tree{"": one}).text("", "id"); name != "" && name != "main" {
			p.leave(Other, clawConfig+" agents.list "+name, "further agents are not taken: write [agents.NAME]")
		}
	}
}

// clawPeople takes allow-lists and owners.
func (p *Plan) clawPeople(conf tree) {
	for _, name := range slices.Sorted(maps.Keys(conf.table("channels"))) {
		from := clawConfig + " channels." + name
		channel := conf.table("channels", name)
		if name != "telegram" && name != "discord" {
			if name != "defaults" && name != "modelByChannel" && channel != nil {
				p.leave(Other, from, "this platform is not here")
			}
			continue
		}
		p.allow(from+".allowFrom", name, "adapters."+name+".allow", channel.list("allowFrom"))
		p.allow(from+".dm.allowFrom", name, "adapters."+name+".allow", channel.list("dm", "allowFrom"))
		groups := map[string]string{"telegram": "groups", "discord": "guilds"}[name]
		p.allow(from+"."+groups, name, "adapters."+name+".groups", slices.Sorted(maps.Keys(channel.table(groups))))
	}
	for _, e := range p.entries("credentials") {
		platform, rest, _ := strings.Cut(e.Name(), "-")
		if (platform != "telegram" && platform != "discord") || !strings.HasSuffix(rest, "allowFrom.json") {
			continue
		}
		file := path.Join("credentials", e.Name())
		if data, found := p.read(Person, file, maxConfig); found {
			list, err := parseYAML(data)
			if err != nil {
				p.leave(Person, file, "cannot be parsed: "+err.Error())
			}
			p.allow(file, platform, "adapters."+platform+".allow", list.list("allowFrom"))
		}
	}
}

// clawModel takes the first model of the default agent.
func (p *Plan) clawModel(conf tree) {
	for _, at := range [][]string{{"agents", "defaults", "model"}, {"agent", "model"}} {
		named := conf.text(at...)
		if named == "" {
			named = conf.text(append(slices.Clone(at), "primary")...)
		}
		if provider, name, is := strings.Cut(named, "/"); is {
			p.model(clawConfig+" "+strings.Join(at, "."), provider, name, conf.text("models", "providers", provider, "baseUrl"))
			return
		}
	}
}

// clawSecrets lists what has to be set again.
func (p *Plan) clawSecrets(conf tree) {
	if conf.text("channels", "telegram", "botToken") != "" {
		p.secret(clawConfig+" channels.telegram.botToken", "TELEGRAM_BOT_TOKEN")
	}
	if conf.text("channels", "discord", "token") != "" {
		p.secret(clawConfig+" channels.discord.token", "DISCORD_TOKEN")
	}
	for _, provider := range slices.Sorted(maps.Keys(conf.table("models", "providers"))) {
		if conf.text("models", "providers", provider, "apiKey") != "" {
			p.secret(clawConfig+" models.providers."+provider+".apiKey", p.keyOf(provider))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(conf.table("env", "vars"))) {
		p.secret(clawConfig+" env.vars."+name, p.keyOf(strings.ToLower(strings.TrimSuffix(name, "_API_KEY"))))
	}
	for _, file := range []string{".env", "secrets.json", "credentials/oauth.json"} {
		if _, err := p.root.Stat(file); err == nil {
			p.secret(file, "")
		}
	}
}

// clawTalks takes the conversations of an agent: agents/ID/sessions/sessions.json names the transcript of each session.
func (p *Plan) clawTalks(ctx context.Context, agent string) {
	dir := path.Join("agents", agent, "sessions")
	file := path.Join(dir, clawSessions)
	data, found := p.read(Conversation, file, maxTranscript)
	if !found {
		return
	}
	var sessions map[string]struct {
		SessionID   string `json:"sessionId"`
		SessionFile string `json:"sessionFile"`
		LastChannel string `json:"lastChannel"`
		LastTo      string `json:"lastTo"`
		Label       string `json:"displayName"`
	}
	if err := json.Unmarshal(data, &sessions); err != nil {
		p.leave(Conversation, file, "cannot be parsed: "+err.Error())
		return
	}
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		s := sessions[name]
		from := file + " " + name
		key, why := clawKey(name, s.LastChannel, s.LastTo)
		switch {
		case ctx.Err() != nil:
			return
		case why != "":
			p.leave(Conversation, from, why)
		case !isID(s.SessionID):
			p.leave(Conversation, from, "names no transcript")
		default:
			p.transcript(from, path.Join(dir, s.SessionID+".jsonl"), key, "openclaw:"+agent+":"+s.SessionID)
		}
	}
}

// clawKey is the session here that a session of OpenClaw becomes, or why it becomes none. Keys there begin with agent:ID.
func clawKey(name, channel, to string) (key, why string) {
	parts := strings.SplitN(name, ":", 3)
	if len(parts) != 3 || parts[0] != "agent" {
		return "", "its key is not one of a chat"
	}
	rest := parts[2]
	if rest == "main" {
		id := bareID(to, channel)
		if channel != "telegram" || !isNumber(id) || strings.HasPrefix(id, "-") {
			return "", "it belongs to no chat of a platform that is here"
		}
		return "telegram:dm:" + id, ""
	}
	rest = strings.Replace(strings.Replace(rest, "telegram:direct:", "telegram:dm:", 1), "discord:direct:", "discord:dm:", 1)
	if chatKey(rest) {
		return rest, ""
	}
	return "", fmt.Sprintf("its key %s is not one of a chat that is here", rest)
}
