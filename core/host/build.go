package host

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/api"
	madeup "gatewaytui/core/adapter/demo"
	"gatewaytui/core/config"
	"gatewaytui/core/files"
	"gatewaytui/core/limit"
	"gatewaytui/core/media"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/platforms"
	"gatewaytui/core/process"
	"gatewaytui/fixtures"
)

// parts are what a gateway is built from.
type parts struct {
	models    *model.Pool
	platforms []adapter.Platform
	broken    map[string]error
	open      []string // names of platforms that everyone may use
	api       *api.Platform
	// guard slows guessing at the key of the API, which the metrics' listener has as well.
	guard  *api.Guard
	talk   *madeup.Talk // of a demo; nil: the gateway is none
	media  *media.Media
	folder *files.Folder
	// limits takes the bounds of [limits] that a part keeps: limits.Add(limit.Spec{…}), and Reached for each refusal.
	limits *limit.Set
}

// localKey reads the key of the home, or makes it on the first start, where the config names none. The home is locked.
func (l *life) localKey() {
	if !l.loaded.Config.Adapters.API.Enabled || l.secrets.API.Source != "" {
		return
	}
	s := config.Credential{Source: l.home.APIKey()}
	s.Value, s.Err = api.LocalKey(s.Source)
	l.secrets.Local = s
}

// apiAccess is whom the api adapter serves; nil: there is none.
func (l *life) apiAccess() *ops.APIAccess {
	if !l.loaded.Config.Adapters.API.Enabled {
		return nil
	}
	a := &ops.APIAccess{By: ops.ByKernel, UID: os.Geteuid(), KeyFile: l.secrets.Local.Source}
	if source := l.secrets.API.Source; source != "" {
		a.By, a.KeySource = ops.ByKey, source
	}
	if err := l.secrets.Local.Err; err != nil {
		a.Problem = err.Error()
	}
	return a
}

// build builds the model and the platforms. A platform without its credential is broken, and the rest runs; a model that
// cannot be built is an error.
func (l *life) build() (err error) {
	l.parts = parts{broken: map[string]error{}, limits: &limit.Set{}, guard: &api.Guard{}}
	p := &l.parts
	if p.models, err = l.models(l.loaded.Config, l.prepared.scripts, l.secrets); err != nil {
		return err
	}
	p.folder = l.folder()
	if p.media, err = l.media(); err != nil {
		return err
	}
	if l.stage != nil {
		p.talk = &madeup.Talk{}
	}
	for _, role := range l.prepared.demo {
		p.open = append(p.open, role.Name)
		p.platforms = append(p.platforms, madeup.New(role.Spec, madeup.Options{Log: l.log, Lines: role.Lines, Talk: p.talk}))
	}
	if c := l.loaded.Config.Adapters.API; c.Enabled {
		if s := l.secrets.API; s.Missing() {
			p.broken["api"] = &adapter.CredentialsError{Variable: s.Source, Why: s.Why()}
		} else {
			p.api = api.New(api.Options{
				Listen: c.Listen, Key: s.Value, KeySource: s.Source, Model: config.DefaultName, Agents: config.Names(l.loaded.Config.AgentsByName()), Requests: 2 * l.loaded.Config.Limits.ModelCalls, Log: l.log,
				BodyMax: int64(c.BodyMax), BodyBytes: int64(l.loaded.Config.Limits.BodyBytes), Limits: p.limits,
				LeaveGrace: c.LeaveTime(), Approval: c.Approval, UserIsSession: c.SessionFrom == config.FromUser, AllowOrigins: c.AllowOrigins, AllowHosts: c.AllowHosts,
				LocalKey: l.secrets.Local.Value, LocalKeyFile: l.secrets.Local.Source, Guard: p.guard,
			})
			p.platforms = append(p.platforms, p.api)
		}
	}
	for _, m := range platforms.Of(l.loaded.Config.Adapters, l.secrets) {
		if m.Err != nil {
			p.broken[m.Name] = m.Err
			continue
		}
		p.platforms = append(p.platforms, m.New(l.platformHost()))
	}
	p.webhook(l)
	return nil
}

// platformHost is what platforms get of this life. They connect when there is a gateway.
func (l *life) platformHost() platforms.Host {
	return platforms.Host{
		Log: l.log, Adapters: l.home.Adapters(), KillGrace: l.loaded.Config.Process.KillGrace.Duration,
		Spawn: func(ctx context.Context, spec process.Spec) (*process.Process, error) {
			return l.gateway.Spawn(ctx, spec)
		},
	}
}

// folder is the work folder of the agents. What belongs to the gateway is out of their reach.
func (l *life) folder() *files.Folder {
	own := append(l.loaded.Config.SecretFiles(), l.loaded.Path, l.home.Database(), l.home.Search())
	return files.New(l.workdir(), files.Own{Home: l.home.Dir(), Work: l.home.Work(), Files: own})
}

func (l *life) workdir() string { return cmp.Or(l.loaded.Config.Tools.Workdir, l.home.Work()) }

// media is the files of chats.
func (l *life) media() (*media.Media, error) {
	c := l.loaded.Config
	o := media.Options{Work: l.workdir(), Folder: l.parts.folder, Kept: l.home.Files(), Log: l.log}
	if t := c.Transcription; t.BaseURL != "" {
		if err := l.secrets.Transcription.Err; err != nil {
			return nil, &SetupError{err}
		}
		hears, err := media.NewTranscription(t.BaseURL, t.Name, l.secrets.Transcription.Value)
		if err != nil {
			return nil, &SetupError{err}
		}
		o.Transcriber = hears
	}
	return media.New(o), nil
}

// prepared is what the flags and the config name and what can be wrong with it. It is made before anything is written: a
// mistake on the command line leaves no home behind (TF47).
type prepared struct {
	demo    []madeup.Role
	scripts map[string]*model.Script // of the scripted models, by their names
}

// readNamed reads the script and the made-up platforms that are named.
func readNamed(o Options, c config.Config, s config.Credentials) (prepared, error) {
	var p prepared
	var err error
	if p.demo, err = roles(o); err != nil {
		return p, err
	}
	taken := map[string]bool{"api": c.Adapters.API.Enabled, "webhook": c.Adapters.Webhook.Enabled}
	for _, b := range c.Adapters.EnabledBots() {
		taken[b.Name] = true
	}
	for _, spec := range p.demo {
		if taken[spec.Name] {
			return p, wrongUsage("give the demo platform another name", "two platforms have the name "+spec.Name)
		}
		taken[spec.Name] = true
	}
	p.scripts = map[string]*model.Script{}
	models := c.ModelsByName()
	for _, name := range config.Names(models) {
		if m := models[name]; m.Provider == config.Scripted {
			if p.scripts[name], err = readScript(table(name), m.Script, o.Demo); err != nil {
				return p, err
			}
		} else if err := s.Models[name].Err; err != nil {
			return p, &SetupError{err}
		}
	}
	return p, nil
}

// table is the table of the config that has the model of this name.
func table(name string) string {
	if name == config.DefaultName {
		return "model"
	}
	return "models." + name
}

// models are the models of a config. scripts are those of the scripted ones.
func (l *life) models(c config.Config, scripts map[string]*model.Script, secrets config.Credentials) (*model.Pool, error) {
	all := c.ModelsByName()
	var specs []model.Spec
	for _, name := range config.Names(all) {
		p, err := l.model(name, all[name], scripts[name], secrets.Models[name])
		if err != nil {
			return nil, &SetupError{err}
		}
		specs = append(specs, model.Spec{Name: name, Provider: p, In: all[name].PriceIn, Cached: all[name].PriceCached, Out: all[name].PriceOut})
	}
	return model.NewPool(l.log, specs...), nil
}

// model is the provider of one model.
func (l *life) model(name string, c config.Model, script *model.Script, secret config.Credential) (model.Provider, error) {
	if script != nil {
		return model.NewScripted(script, cmp.Or(c.Name, "scripted"), c.ContextWindow), nil
	}
	endpoint := model.NewOpenAI
	if c.Provider == config.Anthropic {
		endpoint = model.NewAnthropic
	}
	return endpoint(model.OpenAIOptions{
		BaseURL: c.BaseURL, Model: c.Name, APIKey: secret.Value, KeyHint: secret.Source, Timeout: c.Timeout.Duration, Log: l.log,
		Table: table(name), Window: c.ContextWindow, MaxOutput: c.MaxOutput, Vision: c.Vision, Reasoning: c.Reasoning, Calls: l.loaded.Config.Limits.ModelCalls,
	})
}

// readScript is the script in file, or the embedded one if file is empty, with the demo's small talk before it in a demo. table is
// the table of the config that names it.
func readScript(table, file string, talk bool) (*model.Script, error) {
	wrong := func(err error) error {
		return &SetupError{&ops.Error{
			Code: ops.CodeInvalid, Message: fmt.Sprintf("%s.script: %v", table, err), Hint: "fix the script, or leave " + table + ".script empty to use the embedded one",
		}}
	}
	var text []byte
	var err error
	if file == "" {
		text, err = fixtures.Script("default")
		if talk && err == nil {
			var small []byte
			small, err = fixtures.Script("demo")
			text = append(small, text...)
		}
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, wrong(err)
	}
	script, err := model.ParseScript(text)
	if err != nil {
		return nil, wrong(err)
	}
	return script, nil
}

// roles are the made-up platforms that the flags ask for: those that are named, else the scene of a platforms.
func roles(o Options) ([]madeup.Role, error) {
	if o.DemoPlatforms == "" {
		if o.Demo {
			return madeup.Scene(), nil
		}
		return nil, nil
	}
	specs, err := madeup.Parse(o.DemoPlatforms)
	if err != nil {
		return nil, &UsageError{err}
	}
	var out []madeup.Role
	for _, s := range specs {
		out = append(out, madeup.Role{Spec: s})
	}
	return out, nil
}
