package doctor

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/instance"
	"gatewaytui/core/term"
)

// MinSecret is the length in characters under which a secret can be guessed. It is also the length from which tool results
// are searched for secrets.
const MinSecret = 8

// Facts are what the checks look at next to the config.
type Facts struct {
	// Config is the config file; empty for the embedded default.
	Config string
	// UID is the user that the gateway runs as.
	UID int
	// Groups says that each tool has a control group of its own.
	Groups bool
	// Unlimited is why those groups are not limited in memory and processes; empty: they are, or it is not known.
	Unlimited string
	// Getenv reads the environment of the gateway.
	Getenv func(string) string
}

// Security returns the dangers of a config, the worst first. It reads the secrets that the config names, looks at the
// modes of files, and changes nothing.
func Security(c config.Config, f Facts) []Finding {
	s := &survey{c: c, f: f}
	for _, check := range []func(*survey){
		(*survey).network, (*survey).secrets, (*survey).files, (*survey).people, (*survey).tools, (*survey).machine,
	} {
		check(s)
	}
	order := []Severity{High, Medium, Low}
	slices.SortStableFunc(s.found, func(a, b Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return s.found
}

// Dangers are the findings of severity High. The gateway warns of them while it runs.
func Dangers(c config.Config, f Facts) []Finding {
	return slices.DeleteFunc(Security(c, f), func(f Finding) bool { return f.Severity != High })
}

type survey struct {
	c     config.Config
	f     Facts
	found []Finding
}

func (s *survey) say(severity Severity, id, fix, format string, args ...any) {
	s.found = append(s.found, Finding{ID: id, Severity: severity, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// network is what crosses a network in the clear.
func (s *survey) network() {
	api := s.c.Adapters.API
	if api.Enabled && !local(api.Listen) {
		s.say(High, "api.plain_http", "listen on 127.0.0.1 and put a proxy with TLS in front",
			"adapters.api.listen %s is open to the network without TLS: the key and every message can be read on the way", term.Clean(api.Listen, 100))
	}
	if listen := s.c.Metrics.Listen; listen != "" && !local(listen) {
		s.say(Medium, "metrics.plain_http", "listen on 127.0.0.1 and put a proxy with TLS in front",
			"metrics.listen %s is open to the network without TLS", term.Clean(listen, 100))
	}
	if len(api.AllowHosts) > 0 && !s.has(api.KeyEnv, api.KeyFile) {
		s.say(Medium, "api.hosts_without_key", "set adapters.api.key_env",
			"adapters.api.allow_hosts serves requests for %d further names without a configured key", len(api.AllowHosts))
	}
	models := s.c.ModelsByName()
	for _, name := range config.Names(models) {
		if m := models[name]; m.Provider != config.Scripted && plainHTTP(m.BaseURL) {
			s.say(High, "model.plain_http", "use https in its base_url",
				"the base_url of the model %s is plain http to another machine: the model's key and every conversation can be read on the way", name)
		}
	}
	for _, b := range s.c.Adapters.EnabledBots() {
		if b.BaseURL != "" && plainHTTP(b.BaseURL) {
			key := "adapters." + b.Name + "." + cmp.Or(b.BaseKey, "base_url")
			s.say(High, b.Name+".plain_http", "use https in "+key, "%s is plain http to another machine: the bot's token can be read on the way", key)
		}
	}
	s.webhook()
	if t := s.c.Transcription.BaseURL; t != "" && plainHTTP(t) {
		s.say(High, "transcription.plain_http", "use https in transcription.base_url",
			"transcription.base_url is plain http to another machine: voice messages and the endpoint's key can be read on the way")
	}
}

// credential is one secret of the config.
type credential struct{ name, env, file string }

func (s *survey) credentials() []credential {
	all := []credential{
		{"the key of the API", s.c.Adapters.API.KeyEnv, s.c.Adapters.API.KeyFile},
		{"the key of the transcription", s.c.Transcription.APIKeyEnv, ""},
	}
	for _, b := range s.c.Adapters.Bots() {
		for _, place := range b.Secrets {
			all = append(all, credential{"the " + strings.ReplaceAll(place.Key, "_", " ") + " of the " + b.Title + " bot", place.Env, place.File})
		}
	}
	models := s.c.ModelsByName()
	for _, name := range config.Names(models) {
		m := models[name]
		one := credential{"the key of the model " + name, m.APIKeyEnv, m.APIKeyFile}
		// Models may share a key; it is named once.
		if !slices.ContainsFunc(all, func(c credential) bool { return c.env == one.env && c.file == one.file }) {
			all = append(all, one)
		}
	}
	return append(all, s.heldSecrets()...)
}

func (s *survey) has(env, file string) bool {
	value, err := config.Secret(env, file, s.f.Getenv)
	return err == nil && value != ""
}

func (s *survey) secrets() {
	for _, c := range s.credentials() {
		value, err := config.Secret(c.env, c.file, s.f.Getenv)
		if err != nil || value == "" {
			continue // the check of the adapters says so
		}
		if len(strings.TrimSpace(value)) < MinSecret {
			s.say(High, "secret.short", fmt.Sprintf("use a random one of at least %d characters", 4*MinSecret),
				"%s has fewer than %d characters: it can be guessed, and is not masked where a tool prints it", c.name, MinSecret)
		}
		if c.env != "" && s.f.Getenv(c.env) != "" {
			s.say(Low, "secret.in_environment", "put it into a file of mode 0600 and name that with the …_file key",
				"%s is in the environment, which other programs of this user can read until the gateway has started", c.name)
		}
	}
}

// others are the rights of the group and of everyone else.
const (
	othersRead  fs.FileMode = 0o044
	othersWrite fs.FileMode = 0o022
)

func (s *survey) files() {
	if s.f.Config != "" {
		if why := s.writable(s.f.Config); why != "" {
			s.say(High, "config.writable", "chmod go-w "+s.f.Config+", and see that it belongs to the gateway's user or root",
				"%s %s: they decide which programs the gateway runs", s.f.Config, why)
		}
	}
	for _, c := range s.credentials() {
		if c.file == "" {
			continue
		}
		fi, err := os.Stat(c.file)
		if err != nil {
			continue // the check of the adapters says so
		}
		shown := term.Clean(c.file, 200)
		switch why := s.writable(c.file); {
		case why != "":
			s.say(High, "secret.file_open", "chmod 600 "+shown, "%s with %s %s", shown, c.name, why)
		case fi.Mode().Perm()&othersRead != 0:
			s.say(High, "secret.file_open", "chmod 600 "+shown, "%s with %s can be read by others: its mode is %04o", shown, c.name, fi.Mode().Perm())
		}
	}
}

// writable says who else can change a file; empty: no one. The folder counts as well, unless its sticky bit keeps others
// from replacing the file.
func (s *survey) writable(path string) string {
	for _, p := range []string{path, filepath.Dir(path)} {
		fi, err := os.Stat(p)
		if err != nil {
			continue
		}
		what := "can be changed by others"
		if p != path {
			what = "is in a folder that others can write to"
		}
		if uid := instance.Owner(fi); uid != s.f.UID && uid > 0 {
			return fmt.Sprintf("%s: %s belongs to uid %d", what, p, uid)
		}
		if fi.Mode().Perm()&othersWrite != 0 && (p == path || fi.Mode()&fs.ModeSticky == 0) {
			return fmt.Sprintf("%s: the mode of %s is %04o", what, p, fi.Mode().Perm())
		}
	}
	return ""
}

// shell reports whether people who may talk to the gateway get its shell.
func (s *survey) shell() bool { return slices.Contains(s.c.Tools.Enabled, "terminal") }

func (s *survey) people() {
	bots := s.c.Adapters.EnabledBots()
	for _, b := range bots {
		if b.AllowAll && s.shell() {
			s.say(High, b.Name+".allow_all", "list the users in adapters."+b.Name+".allow, or take \"terminal\" and \"files\" out of tools.enabled",
				"adapters.%s.allow_all lets everyone on %s run commands as the gateway's user", b.Name, b.Title)
		}
	}
	if m := s.c.Adapters.Mail; m.Enabled && m.AuthservID == "" && s.shell() {
		s.say(High, "mail.unchecked", "set adapters.mail.authserv_id, or take \"terminal\" and \"files\" out of tools.enabled",
			"adapters.mail.authserv_id is empty: anyone can write a mail with the address of a person who may run commands")
	}
	if len(bots) > 0 && len(s.c.Access.Owners) == 0 {
		s.say(Low, "access.no_owner", "name owners in access.owners, for instance [\"telegram:4711\"]",
			"the config names no owner, so approvals are answered and people let in on the command line and in the console alone")
	}
	if s.f.UID != 0 || !s.shell() {
		return
	}
	const fix = "run the gateway as a user of its own: gatewaytui unit writes a service for the current one"
	if len(bots) > 0 {
		s.say(High, "root", fix, "the gateway runs as root: every user of the bot is root on this machine")
		return
	}
	s.say(Medium, "root", fix, "the gateway runs as root: every sender of a message is root on this machine")
}

// tools is what tools see of the gateway's environment beyond what the default passes: a variable that steers other programs, or
// one that is a secret by its name (HF8).
func (s *survey) tools() {
	var named []string
	for _, pattern := range s.c.Tools.EnvPass {
		if config.Steers(pattern) || !strings.HasSuffix(pattern, "*") && term.SecretName(pattern) { // a beginning of a name passes no secret
			named = append(named, pattern)
		}
	}
	if len(named) > 0 {
		s.say(Medium, "tools.environment", "take it out of tools.env_pass, or give the value to the one program that needs it",
			"tools.env_pass names %s: every tool sees it, and so does every sender of a message", term.Clean(strings.Join(named, ", "), 200))
	}
}

// delegate is how the gateway gets the controllers of its control group.
const delegate = "run it as a service of systemd with Delegate=cpu memory pids: gatewaytui unit writes one; by hand, alone in a group: " +
	"systemd-run --user --scope -p \"Delegate=cpu memory pids\" gatewaytui"

func (s *survey) machine() {
	switch {
	case !s.f.Groups:
		s.say(Low, "containment.no_groups", delegate,
			"tools have no control group of their own: they are found by ancestry and marks, and share the gateway's limits of memory and processes")
	case s.f.Unlimited != "":
		s.say(Low, "containment.no_limits", delegate, "not every limit of the control groups of tools is in force, so one tool can use up what others need: %s",
			term.Clean(s.f.Unlimited, 300))
	}
	if !s.c.Process.Guardian {
		s.say(Medium, "guardian.off", "set process.guardian = true", "what tools started outlives a gateway that is killed with SIGKILL")
	}
}

// local reports whether the address host:port is out of reach of other machines.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && config.Loopback(host)
}

// plainHTTP reports whether a base URL sends in the clear to another machine.
func plainHTTP(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "http" && !config.Loopback(u.Hostname())
}
