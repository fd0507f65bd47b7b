// Package importer takes over what another gateway for agents has: OpenClaw or Hermes (OP7). It reads the other gateway's folder, says
// of each thing in it what would become of it, and then does that.
//
// What it promises: the other gateway's folder is only read, no link leads out of it, and every file, list and text is bounded. What
// is broken is listed, and the rest goes on. Nothing that is here already is overwritten: it is listed as a conflict. No secret is
// copied: its name is listed with what to do. The second run takes nothing twice. Memories become notes of an owner.
//
// importer.go has the plan, openclaw.go and hermes.go read one gateway each, files.go copies, talks.go reads transcripts, keep.go
// writes conversations into the store, and notes.go memories.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/term"
)

// Kind is what a thing of the other gateway is.
type Kind string

// The kinds.
const (
	Document     Kind = "document"
	Skill        Kind = "skill"
	Person       Kind = "person"
	Model        Kind = "model"
	Conversation Kind = "conversation"
	Memory       Kind = "memory"
	Job          Kind = "job"
	Secret       Kind = "secret"
	Other        Kind = "other"
)

// State is what becomes of a thing.
type State string

// The states. A thing that is taken is Taken in a dry run, too.
const (
	Taken    State = "taken"
	There    State = "there already"
	Conflict State = "conflict"
	Left     State = "not taken"
)

// Item is one thing, as people and scripts see it. Its texts are safe to show and hold no secret.
type Item struct {
	Kind Kind `json:"kind"`
	// From is the file in the other gateway's folder, with the key where it is a part of one.
	From string `json:"from"`
	// To is where it goes: a file of the work folder, a key of the config, or the key of a session; empty: nowhere.
	To    string `json:"to,omitempty"`
	State State  `json:"state"`
	// Why says why it is not taken, or what to know about it.
	Why string `json:"why,omitempty"`
}

// Into is what a plan goes into.
type Into struct {
	// Work is the work folder of the agents, which may not exist yet.
	Work string
	// Config is the config file, Text its content (nil: there is none), and Now what it says.
	Config string
	Text   []byte
	Now    config.Config
}

// Plan is what would be taken.
type Plan struct {
	Items []Item

	into     Into
	root     *os.Root // the other gateway's folder
	copies   []copied
	settings []config.Setting
	talks    []talk
	notes    []remembered
	names    map[string]bool // of the skills
}

// Bounds of what is read.
const (
	maxConfig   = 1 << 20
	maxDocument = 256 << 10
	maxItems    = 10_000
	maxEntries  = 5_000 // of a folder
	maxShown    = 200   // runes of a text in an item
)

// Sources are the gateways that can be read, by the words of the command line.
var Sources = map[string]func(context.Context, *Plan){"openclaw": readOpenClaw, "hermes": readHermes}

// Read makes the plan for a folder of another gateway. It changes nothing. The error is about the folder itself. The caller closes the
// plan.
func Read(ctx context.Context, source, dir string, into Into) (*Plan, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of %s: %w", source, err)
	}
	p := &Plan{into: into, root: root, names: map[string]bool{}}
	Sources[source](ctx, p)
	if err := ctx.Err(); err != nil {
		p.Close()
		return nil, err
	}
	if len(p.Items) == 0 {
		p.Close()
		return nil, fmt.Errorf("%s has nothing of %s: name the folder with its config, such as ~/.%s", dir, source, source)
	}
	return p, nil
}

// Close lets go of the other gateway's folder.
func (p *Plan) Close() { _ = p.root.Close() } // it was only read

// Takes reports whether the plan has something to take.
func (p *Plan) Takes() bool {
	return slices.ContainsFunc(p.Items, func(i Item) bool { return i.State == Taken })
}

// Conversations is how many conversations the plan writes to the store.
func (p *Plan) Conversations() int { return len(p.talks) }

// TakesRows reports whether the plan writes to the store.
func (p *Plan) TakesRows() bool { return len(p.talks)+len(p.notes) > 0 }

// add lists a thing, cleaned.
func (p *Plan) add(kind Kind, from, to string, state State, why string) {
	clean := func(s string) string { return term.Clean(term.Redact(s), maxShown) }
	if len(p.Items) < maxItems {
		p.Items = append(p.Items, Item{Kind: kind, From: clean(from), To: clean(to), State: state, Why: clean(why)})
	}
}

// leave lists a thing that is not taken.
func (p *Plan) leave(kind Kind, from, why string) { p.add(kind, from, "", Left, why) }

// read is the content of a regular file of the other gateway's folder. found is false where there is none; a file that cannot be
// read is listed.
func (p *Plan) read(kind Kind, name string, most int64) (data []byte, found bool) {
	data, err := p.content(name, most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		p.leave(kind, name, "cannot be read: "+reason(err))
		return nil, false
	}
	return data, true
}

func (p *Plan) content(name string, most int64) ([]byte, error) {
	fi, err := p.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if fi.Size() > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	f, err := p.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return data, err
}

// reason is an error without the path, which the item has already.
func reason(err error) string {
	if e, is := errors.AsType[*fs.PathError](err); is {
		return e.Err.Error()
	}
	return err.Error()
}

// entries are the names in a folder, sorted; none where there is no such folder.
func (p *Plan) entries(dir string) []fs.DirEntry {
	f, err := p.root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := f.ReadDir(maxEntries)
	if err != nil && err != io.EOF {
		return nil
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// set takes a value for a key of the config that has none yet.
func (p *Plan) set(kind Kind, from string, value any, key ...string) {
	c := config.Setting{Path: key, Value: value}
	to := strings.Join(key, ".")
	switch was := config.Lookup(p.into.Text, key...); {
	case c.In(p.into.Text):
		p.add(kind, from, to, There, "")
	case was != nil && !slices.ContainsFunc(p.settings, func(s config.Setting) bool { return slices.Equal(s.Path, key) }):
		p.add(kind, from, to, Conflict, fmt.Sprintf("the config has %v there, and %v here", was, value))
	default:
		p.settings = slices.DeleteFunc(p.settings, func(s config.Setting) bool { return slices.Equal(s.Path, key) })
		p.settings = append(p.settings, c)
		p.add(kind, from, to, Taken, fmt.Sprint(value))
	}
}

// allow lets people of a platform in who were let in there: ids as numbers, or with the platform in front.
func (p *Plan) allow(from, platform, key string, ids []string) {
	have := map[string][]int64{
		"adapters.telegram.allow": p.into.Now.Adapters.Telegram.Allow, "adapters.telegram.groups": p.into.Now.Adapters.Telegram.Groups,
		"adapters.discord.allow": p.into.Now.Adapters.Discord.Allow, "adapters.discord.groups": p.into.Now.Adapters.Discord.Groups,
	}[key]
	where := strings.Split(key, ".")
	for _, s := range p.settings {
		if slices.Equal(s.Path, where) {
			have = s.Value.([]int64)
		}
	}
	list := slices.Clone(have)
	for _, id := range ids {
		id = strings.TrimSpace(id)
		n, err := strconv.ParseInt(bareID(id, platform), 10, 64)
		switch {
		case id == "":
		case id == "*":
			p.leave(Person, from, "lets everyone in: set adapters."+platform+".allow_all if you mean that")
		case err != nil || n == 0:
			p.leave(Person, from+" "+id, "is not an id of "+platform)
		case slices.Contains(list, n):
			p.add(Person, from+" "+id, key, There, "")
		default:
			list = append(list, n)
			p.add(Person, from+" "+id, key, Taken, "")
		}
	}
	if len(list) > len(have) {
		p.settings = slices.DeleteFunc(p.settings, func(s config.Setting) bool { return slices.Equal(s.Path, where) })
		p.settings = append(p.settings, config.Setting{Path: where, Value: list})
	}
}

// own makes people owners.
func (p *Plan) own(from string, people []string) {
	list := slices.Clone(p.into.Now.Access.Owners)
	for _, who := range people {
		platform, id, found := strings.Cut(strings.TrimSpace(who), ":")
		if platform == "tg" {
			platform = "telegram"
		}
		_, err := strconv.ParseInt(id, 10, 64)
		switch who = platform + ":" + id; {
		case !found || err != nil || platform != "telegram" && platform != "discord":
			p.leave(Person, from+" "+who, "is not a person of a platform that is here")
		case slices.Contains(list, who):
			p.add(Person, from+" "+who, "access.owners", There, "")
		default:
			list = append(list, who)
			p.add(Person, from+" "+who, "access.owners", Taken, "approves commands and lets others in")
		}
	}
	if len(list) > len(p.into.Now.Access.Owners) {
		p.settings = append(p.settings, config.Setting{Path: []string{"access", "owners"}, Value: list})
	}
}

// bareID is an id without the platform that some lists put in front.
func bareID(id, platform string) string {
	id = strings.TrimSpace(id)
	for _, prefix := range []string{platform + ":", "tg:", "user:"} {
		id = strings.TrimPrefix(id, prefix)
	}
	return id
}

// secret lists a secret that is not copied. variable is what this gateway reads it from; empty: nothing.
func (p *Plan) secret(from, variable string) {
	why := "secrets are not copied; nothing here reads this one"
	if variable != "" {
		why = "secrets are not copied: set " + variable + ", or run gatewaytui setup"
	}
	p.leave(Secret, from, why)
}

// Apply takes what the plan says, but for conversations, which Keep takes: first files, then the config. An error names what was not
// done; what was done stays, and the next run goes on.
func (p *Plan) Apply(ctx context.Context) error {
	for _, c := range p.copies {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.copy(c); err != nil {
			return fmt.Errorf("copy %s: %w", term.Clean(c.from, maxShown), err)
		}
	}
	if len(p.settings) == 0 {
		return nil
	}
	text, err := config.Edit(p.into.Text, p.settings)
	if err != nil {
		return err
	}
	draft := p.into.Config + ".import"
	if err := config.WriteFile(draft, text); err != nil {
		return err
	}
	defer os.Remove(draft)
	if _, err := config.Load(config.Options{Path: draft}); err != nil {
		return fmt.Errorf("the config would not be valid, and is unchanged: %w", err)
	}
	return config.Replace(p.into.Config, p.into.Text, text)
}

// model takes the model of the other gateway, where the config has none of its own.
func (p *Plan) model(from, provider, name, base string) {
	shown := strings.Trim(provider+"/"+name, "/")
	known := map[string]struct{ provider, base, variable string }{
		"anthropic":  {config.Anthropic, "", "ANTHROPIC_API_KEY"},
		"openai":     {config.OpenAI, "https://api.openai.com/v1", "OPENAI_API_KEY"},
		"openrouter": {config.OpenAI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
		"ollama":     {config.OpenAI, "http://127.0.0.1:11434/v1", ""},
	}
	to, is := known[provider]
	if base != "" && provider != "anthropic" {
		to, is = struct{ provider, base, variable string }{config.OpenAI, base, variableOf(provider)}, true
		if config.LocalURL(base) {
			to.variable = ""
		}
	}
	switch {
	case name == "":
		return
	case !is:
		p.leave(Model, from+" "+shown, "has a provider that does not map; gatewaytui setup asks for the model")
		return
	case len(p.into.Now.Models) > 0 || config.Lookup(p.into.Text, "model") != nil && !p.hasModel(to.provider, name):
		p.add(Model, from+" "+shown, "model", Conflict, "the config names a model already")
		return
	}
	p.set(Model, from, to.provider, "model", "provider")
	p.set(Model, from, name, "model", "name")
	if to.base != "" {
		p.set(Model, from, to.base, "model", "base_url")
	}
	p.set(Model, from, to.variable, "model", "api_key_env")
}

func (p *Plan) hasModel(provider, name string) bool {
	return config.Lookup(p.into.Text, "model", "provider") == provider && config.Lookup(p.into.Text, "model", "name") == name
}

// keyOf is the variable that holds the key of a provider, if the model that is taken reads it; empty: nothing does.
func (p *Plan) keyOf(provider string) string {
	for _, c := range p.settings {
		if strings.Join(c.Path, ".") == "model.api_key_env" && c.Value == variableOf(provider) {
			return variableOf(provider)
		}
	}
	return ""
}

// variableOf is a name of a variable for the key of a provider that has no usual one.
func variableOf(provider string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, provider)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "MODEL_" + name
	}
	return name + "_API_KEY"
}

// within is a path below the other gateway's folder, from one that its config names; false for one that is elsewhere.
func (p *Plan) within(named string) (string, bool) {
	named = strings.TrimSpace(named)
	if rest, ok := strings.CutPrefix(named, p.root.Name()+"/"); ok {
		named = rest
	}
	for _, prefix := range []string{"~/.openclaw/", "~/.hermes/"} {
		named = strings.TrimPrefix(named, prefix)
	}
	named = path.Clean(named)
	return named, !path.IsAbs(named) && named != ".." && !strings.HasPrefix(named, "../") && !strings.HasPrefix(named, "~")
}
