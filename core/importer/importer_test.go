package importer

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/config"
	"gatewaytui/core/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// target is a gateway that an import goes into.
type target struct {
	t    *testing.T
	dir  string
	into Into
}

func newTarget(t *testing.T, text string) *target {
	t.Helper()
	g := &target{t: t, dir: t.TempDir()}
	if text != "" {
		write(t, g.config(), text)
	}
	g.load()
	return g
}

func (g *target) config() string { return filepath.Join(g.dir, "config.toml") }

// load reads the config again.
func (g *target) load() {
	g.t.Helper()
	g.into = Into{Work: filepath.Join(g.dir, "work"), Config: g.config(), Now: config.Default()}
	if text, err := os.ReadFile(g.config()); err == nil {
		loaded, err := config.Load(config.Options{Path: g.config()})
		if err != nil {
			g.t.Fatal(err)
		}
		g.into.Text, g.into.Now = text, loaded.Config
	}
}

// run reads a folder and takes all of it.
func (g *target) run(source, dir string) *Plan {
	g.t.Helper()
	g.load()
	p, err := Read(g.t.Context(), source, dir, g.into)
	if err != nil {
		g.t.Fatal(err)
	}
	defer p.Close()
	s := g.store()
	defer s.Close(context.Background())
	if err := p.Compare(g.t.Context(), s); err != nil {
		g.t.Fatal(err)
	}
	if err := p.Apply(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	if err := p.Keep(g.t.Context(), s, now, func() {}); err != nil {
		g.t.Fatal(err)
	}
	return p
}

func (g *target) store() *store.Store {
	g.t.Helper()
	s, err := store.Open(g.t.Context(), store.Options{Path: filepath.Join(g.dir, "gateway.db")})
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// said are the messages of the current session of a key.
func (g *target) said(key string) (texts []string) {
	g.t.Helper()
	s := g.store()
	defer s.Close(context.Background())
	v, found, err := s.CurrentSession(g.t.Context(), key)
	if err != nil || !found {
		return nil
	}
	entries, _, err := s.Entries(g.t.Context(), v.ID, 0, 100, 1<<20)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range entries {
		texts = append(texts, e.Role+" "+e.Who+": "+e.Content)
		if e.At.After(now) {
			g.t.Errorf("%q is of %v, which is not over yet", e.Content, e.At)
		}
	}
	return texts
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// states are the states of the items of a kind, by where they go or come from.
func states(p *Plan) string {
	var b strings.Builder
	for _, i := range p.Items {
		fmt.Fprintf(&b, "%s %s %s -> %s (%s)\n", i.State, i.Kind, i.From, i.To, i.Why)
	}
	return b.String()
}

const claw, herm = "../../fixtures/import/openclaw", "../../fixtures/import/hermes"

func TestOP7_OpenClawIsTakenOver(t *testing.T) {
	g := newTarget(t, "# mine\n[adapters.telegram]\nallow = [1]\n")
	p := g.run("openclaw", claw)
	for name, want := range map[string]string{"SOUL.md": "harbour master", "AGENTS.md": "Ask before", "USER.md": "short answers", "skills/weather/SKILL.md": "Look out", "skills/weather/look.sh": "sunny"} {
		if got := content(t, filepath.Join(g.into.Work, name)); !strings.Contains(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if fi, err := os.Stat(filepath.Join(g.into.Work, "skills/weather/look.sh")); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the script of a skill: %v %v", fi.Mode(), err)
	}
	g.load()
	now := g.into.Now
	if !slices.Equal(now.Adapters.Telegram.Allow, []int64{1, 4711, 4712, 4713, 4714}) || !slices.Equal(now.Access.Owners, []string{"telegram:4711"}) || !slices.Equal(now.Adapters.Telegram.Groups, []int64{-1001234}) {
		t.Errorf("people: %+v %v", now.Adapters.Telegram, now.Access.Owners)
	}
	if now.Model.Provider != config.Anthropic || now.Model.Name != "claude-sonnet-4-5" || now.Adapters.Telegram.AllowAll || now.Adapters.Telegram.Enabled {
		t.Errorf("%+v %+v", now.Model, now.Adapters.Telegram)
	}
	if text := content(t, g.config()); !strings.HasPrefix(text, "# mine\n") || strings.Contains(text, "not-a-real") || content(t, g.config()+".old") == text {
		t.Errorf("the config is\n%s", text)
	}
	morning, tides := now.Jobs["morning-brief"], now.Jobs["tides"]
	if morning == nil || morning.Schedule != "0 7 * * 1-5" || morning.Zone != "Europe/Vienna" || morning.Prompt != "What is on today?" || morning.Deliver != "telegram:dm:4711" || len(now.Jobs) != 2 {
		t.Errorf("the jobs are %+v, the first %+v", now.Jobs, morning)
	}
	if tides == nil || tides.Schedule != "every 90m" || tides.Deliver != "telegram:group:-1001234" {
		t.Errorf("the second job is %+v", tides)
	}
	if got := g.said("telegram:dm:4711"); !slices.Equal(got, []string{"user 4711: When does the ferry leave?", "assistant : At half past two.", "user 4711: Thank you."}) {
		t.Errorf("said %q", got)
	}
	all := states(p)
	for _, part := range []string{
		"taken memory workspace/MEMORY.md -> the notes of telegram:4711", "taken job cron/jobs.json Morning brief -> jobs.morning-brief", "taken job cron/jobs.json tides -> jobs.tides", "not taken job cron/jobs.json off", "not taken job cron/jobs.json over", "not taken job cron/jobs.json broken", "not taken secret openclaw.json channels.telegram.botToken", "lets everyone in", "max", "whatsapp", "research",
		"telegram:dm:4711 (3 messages, 1 line could not be read)", "names no transcript", "its transcript is missing", "taken conversation agents/main/sessions/sessions.json agent:main:telegram:group:-1001234",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("the list lacks %q:\n%s", part, all)
		}
	}
	if strings.Contains(all, "not-a-real") {
		t.Errorf("the list shows a secret:\n%s", all)
	}

	before := content(t, g.config())
	p = g.run("openclaw", claw)
	if p.Takes() || content(t, g.config()) != before || len(g.said("telegram:dm:4711")) != 3 {
		t.Errorf("the second run takes something:\n%s", states(p))
	}
}

// stateDB makes a state.db of Hermes in a copy of the sample.
func stateDB(t *testing.T, schema ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(herm)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range schema {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOP7_HermesIsTakenOver(t *testing.T) {
	dir := stateDB(t,
		`CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, started_at REAL NOT NULL, title TEXT)`,
		`CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT, timestamp REAL)`,
		`INSERT INTO sessions VALUES ('old-1', 'telegram', '4712', NULL, 1767225600, NULL), ('a', 'telegram', '4711', 'agent:main:telegram:dm:4711', 1767225600, 'Lamps'),
			('b', 'telegram', '4711', 'agent:main:telegram:dm:4711', 1767225700, NULL), ('c', 'cli', NULL, NULL, 1767225700, NULL)`,
		`INSERT INTO messages (session_id, role, content, timestamp) VALUES ('a', 'user', 'earlier', 1767225600), ('b', 'user', 'Is the lamp on?', 1767225700.5), ('b', 'tool', 'yes', 1767225701),
			('b', 'assistant', NULL, 1767225701), ('b', 'assistant', 'It is.', 1e300), ('old-1', 'user', x'68ff69', 1767225600), ('c', 'user', 'hi', 1)`)
	g := newTarget(t, "")
	p := g.run("hermes", dir)
	g.load()
	if !slices.Equal(g.into.Now.Adapters.Telegram.Allow, []int64{4711, 4712}) || g.into.Now.Adapters.Telegram.Home != "4711" || g.into.Now.Model.Name != "qwen3:8b" || g.into.Now.Model.APIKeyEnv != "" {
		t.Errorf("%+v %+v", g.into.Now.Adapters.Telegram, g.into.Now.Model)
	}
	if lamps := g.into.Now.Jobs["lamps"]; lamps == nil || lamps.Schedule != "0 20 * * *" || lamps.Deliver != "telegram:dm:4711" || g.into.Now.Jobs["3f2a"].Schedule != "every 45m" {
		t.Errorf("the jobs are %+v", g.into.Now.Jobs)
	}
	for name, want := range map[string]string{"SOUL.md": "lighthouse", "USER.md": "trains", "skills/trains/SKILL.md": "timetable"} {
		if got := content(t, filepath.Join(g.into.Work, name)); !strings.Contains(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := g.said("telegram:dm:4711"); !slices.Equal(got, []string{"user 4711: Is the lamp on?", "assistant : It is."}) {
		t.Errorf("said %q", got)
	}
	if got := g.said("telegram:dm:4712"); len(got) != 1 || !strings.HasPrefix(got[0], "user 4712: h") {
		t.Errorf("said %q\n%s", got, states(p))
	}
	for _, part := range []string{"an earlier conversation", "1 session of no chat", "not taken secret .env TELEGRAM_BOT_TOKEN", "taken memory memories/MEMORY.md", "taken job cron/jobs.json Lamps -> jobs.lamps", "taken job cron/jobs.json 3f2a -> jobs.3f2a"} {
		if !strings.Contains(states(p), part) {
			t.Errorf("the list lacks %q:\n%s", part, states(p))
		}
	}
	if p = g.run("hermes", dir); p.Takes() {
		t.Errorf("the second run takes something:\n%s", states(p))
	}
}

func TestOP7_WhatIsHereIsNotOverwritten(t *testing.T) {
	g := newTarget(t, "[model]\nprovider = \"openai\"\nname = \"mine\"\nbase_url = \"http://127.0.0.1:1/v1\"\n")
	write(t, filepath.Join(g.into.Work, "SOUL.md"), "mine\n")
	write(t, filepath.Join(g.into.Work, "skills/weather/SKILL.md"), "mine\n")
	s := g.store()
	if err := s.Choose(t.Context(), store.Session{Key: "telegram:dm:4711", ID: "mine", Platform: "telegram", State: "idle", CreatedAt: now, LastActivityAt: now}); err != nil {
		t.Fatal(err)
	}
	s.Close(t.Context())
	p := g.run("openclaw", claw)
	g.load()
	if content(t, filepath.Join(g.into.Work, "SOUL.md")) != "mine\n" || content(t, filepath.Join(g.into.Work, "skills/weather/SKILL.md")) != "mine\n" || g.into.Now.Model.Name != "mine" || g.said("telegram:dm:4711") != nil {
		t.Errorf("something was overwritten:\n%s", states(p))
	}
	for _, part := range []string{"conflict document", "conflict skill", "conflict model", "conflict conversation"} {
		if !strings.Contains(states(p), part) {
			t.Errorf("the list lacks %q:\n%s", part, states(p))
		}
	}
}

func TestOP7_NoLinkLeadsOut(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret.md"), "a secret of this machine")
	write(t, filepath.Join(outside, "skill/SKILL.md"), "a secret of this machine")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "openclaw.json"), `{agents: {defaults: {workspace: "`+outside+`"}}}`)
	write(t, filepath.Join(dir, "skills/real/SKILL.md"), "real")
	for name, to := range map[string]string{
		"skills/linked": filepath.Join(outside, "skill"), "skills/real/more.md": filepath.Join(outside, "secret.md"), "credentials": outside, "agents": outside,
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	g := newTarget(t, "")
	write(t, filepath.Join(dir, "workspace/AGENTS.md"), "x")
	p := g.run("openclaw", dir)
	err := filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(content(t, path), "secret of this machine") {
			t.Errorf("%s has what a link leads to", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := states(p); !strings.Contains(all, "outside of the folder") || !strings.Contains(all, "without 1 link") {
		t.Errorf("the list is\n%s", all)
	}

	// A work folder that is a link leads nowhere else, either.
	hermes := t.TempDir()
	if err := os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(hermes, "SOUL.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "x.db"), filepath.Join(hermes, "state.db")); err != nil {
		t.Fatal(err)
	}
	p = g.run("hermes", hermes)
	if p.Takes() {
		t.Errorf("a link was followed:\n%s", states(p))
	}
}

func TestOP7_WhatIsBrokenIsListedAndTheRestGoesOn(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "openclaw.json"), "{ channels: [")
	write(t, filepath.Join(dir, "workspace/SOUL.md"), strings.Repeat("x", maxDocument+1))
	write(t, filepath.Join(dir, "workspace/AGENTS.md"), "works")
	write(t, filepath.Join(dir, "agents/main/sessions/sessions.json"), "{")
	write(t, filepath.Join(dir, "credentials/telegram-allowFrom.json"), `{"allowFrom": [{"a": 1}, null, 4711]}`)
	for i := range maxSkillFiles + 1 {
		write(t, filepath.Join(dir, "skills/huge", fmt.Sprint("f", i)), "x")
	}
	write(t, filepath.Join(dir, "skills/huge/SKILL.md"), "x")
	g := newTarget(t, "")
	p := g.run("openclaw", dir)
	all := states(p)
	for _, part := range []string{"openclaw.json -> (", "not taken document workspace/SOUL.md", "taken document workspace/AGENTS.md", "sessions.json -> (cannot be parsed", "not taken skill skills/huge", "taken person credentials/telegram-allowFrom.json 4711"} {
		if !strings.Contains(strings.ReplaceAll(all, "->  (", "-> ("), part) {
			t.Errorf("the list lacks %q:\n%s", part, all)
		}
	}

	broken := t.TempDir()
	write(t, filepath.Join(broken, "SOUL.md"), "works")
	write(t, filepath.Join(broken, "state.db"), "SQLite format 3\x00 and nothing of it")
	write(t, filepath.Join(broken, "config.yaml"), "a: &a [*a, *a]\nb: [")
	if all := states(g.run("hermes", broken)); !strings.Contains(all, "state.db ->  (cannot be read") || !strings.Contains(all, "config.yaml ->  (cannot be parsed") || !strings.Contains(all, "SOUL.md") {
		t.Errorf("the list is\n%s", all)
	}
	if _, err := Read(t.Context(), "hermes", t.TempDir(), g.into); err == nil {
		t.Error("an empty folder is one of Hermes")
	}
}

func FuzzTranscript(f *testing.F) {
	for _, name := range []string{"11111111-aaaa", "22222222-bbbb"} {
		data, err := os.ReadFile(filepath.Join(claw, "agents/main/sessions", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, _ := parseTranscript(data)
		times(messages, now)
		last := time.Time{}
		for _, m := range messages {
			if m.text == "" || m.role != "user" && m.role != "assistant" || m.at.Before(last) || m.at.After(now) || strings.Contains(m.text, "\x00") {
				t.Fatalf("a message is %+v", m)
			}
			last = m.at
		}
	})
}

func FuzzConfigs(f *testing.F) {
	data, err := os.ReadFile(filepath.Join(claw, "openclaw.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, "agent:main:telegram:direct:4711")
	f.Add([]byte("a: &x [*x]"), "agent:main:main")
	f.Add([]byte("/* \" // '"), "")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		if plain := uncommented(data); len(plain) != len(data) {
			t.Fatalf("the text has %d bytes without comments, and %d with", len(plain), len(data))
		}
		for _, parse := range []func([]byte) (tree, error){parseJSON5, parseYAML} {
			conf, err := parse(data)
			if err != nil {
				continue
			}
			_ = conf.list("channels", "telegram", "allowFrom")
			_ = conf.table("channels").table("telegram")
			_ = conf.text("model", "default")
		}
		_ = parseEnv(data)
		if key, why := clawKey(name, "telegram", name); why == "" && !chatKey(key) {
			t.Fatalf("%q became the key %q", name, key)
		}
	})
}
