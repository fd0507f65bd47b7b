package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"gatewaytui/core/config"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/service"
	"gatewaytui/core/shutdown"
)

func unitVerb(p *program) *cobra.Command {
	c := p.verb(&cobra.Command{
		Use: "unit", Short: "print or install the service definition computed from this config",
		Example: "  gatewaytui unit systemd\n  gatewaytui unit systemd --user --write",
		Args:    group, RunE: group,
	})
	c.AddCommand(
		definitionVerb(p, service.Systemd, "print the unit file for systemd, or install it",
			"  gatewaytui unit systemd --user --write\n  gatewaytui unit systemd --system > gatewaytui.service"),
		definitionVerb(p, service.Launchd, "print the property list for launchd, or install it",
			"  gatewaytui unit launchd --write"),
	)
	return c
}

// definition is a service definition and where it belongs, as scripts are told of it.
type definition struct {
	Manager service.Kind `json:"manager"`
	Path    string       `json:"path"`
	Text    string       `json:"text"`
	// Name is the service's: of the default home gatewaytui, of another one with the home in it.
	Name string `json:"name"`
	// Written is whether it was put in place; false where the same was there already.
	Written bool `json:"written"`
	// Next is what to run, for the manager to take it up.
	Next []string `json:"next"`
	// Warning is what is better changed first, empty for nothing.
	Warning string `json:"warning"`

	home   string
	system bool
}

func definitionVerb(p *program, kind service.Kind, short, example string) *cobra.Command {
	var forUser, system, write, force bool
	var path string
	c := p.verb(&cobra.Command{Use: string(kind), Short: short, Example: example})
	f := c.Flags()
	f.BoolVar(&forUser, "user", false, "for your own services (the default)")
	f.BoolVar(&system, "system", false, "for the machine's services")
	f.BoolVar(&write, "write", false, "install it instead of printing it")
	f.BoolVar(&force, "force", false, "with --write: overwrite an edited file, keeping a .old copy")
	f.StringVar(&path, "config", "", "config `FILE` (default: $GATEWAYTUI_CONFIG, else ~/.config/gatewaytui/config.toml)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case forUser && system:
			return wrongUsage("give one of them", "--user and --system exclude each other")
		case force && !write:
			return wrongUsage("add --write", "--force is about a file that --write would replace")
		}
		path, note := p.configPath(cmd.Context(), path)
		loaded, err := config.Load(config.Options{Path: path})
		if err != nil {
			return err
		}
		home, err := instance.Resolve(p.home, p.getenv)
		if err != nil {
			return err
		}
		d, err := p.definition(kind, system, loaded, home)
		if err != nil {
			return err
		}
		if note != "" {
			p.note("note: %s", note)
		}
		return p.deliver(d, write, force)
	}
	return c
}

// deliver prints the definition, or puts it in place and says what comes next.
func (p *program) deliver(d definition, write, force bool) error {
	if write {
		var err error
		if d.Written, err = d.install(force); err != nil {
			return err
		}
	}
	switch {
	case p.json:
		p.writeJSON(p.out, d)
	case !write:
		fmt.Fprint(p.out, d.Text)
	case d.Written:
		p.say("written     %s", d.Path)
	default:
		p.say("unchanged   %s is as this config asks", d.Path)
	}
	if d.Warning != "" && !p.json {
		p.note("gatewaytui: %s", d.Warning)
	}
	if write && !p.json {
		for _, command := range d.Next {
			p.say("next        %s", command)
		}
	}
	return nil
}

// definition computes the definition for the gateway on home. It makes and changes nothing.
func (p *program) definition(kind service.Kind, system bool, loaded config.Loaded, home string) (definition, error) {
	exec, err := os.Executable()
	if err != nil {
		return definition{}, fmt.Errorf("find this program's path: %w", err)
	}
	v := service.Values{
		Name: p.serviceName(home), Exec: exec, Home: home, StopTimeout: stopPlan(loaded.Config).TimeoutStopSec(), System: system,
		Environment: map[string]string{}, Credentials: credentialVariables(loaded.Config),
	}
	if loaded.Source != config.Embedded {
		if v.Config, err = filepath.Abs(loaded.Source); err != nil {
			return definition{}, fmt.Errorf("find the config %s: the working directory is gone: %w", loaded.Source, err)
		}
	}
	// What the environment sets in this shell counted for the plan, and the service has another environment.
	for _, value := range loaded.Values() {
		if name := value.Origin.Variable; name != "" {
			v.Environment[name] = p.getenv(name)
		}
	}
	if system {
		v.User = ownerOf(home)
	}
	userHome := p.getenv("HOME")
	if !system && !filepath.IsAbs(userHome) {
		return definition{}, &ops.Error{Code: ops.CodeInvalid, Message: "HOME is not set, so it is not known where your services belong", Hint: "set HOME, or use --system"}
	}
	d := definition{
		Manager: kind, Name: v.Name, Path: service.InstallPath(kind, system, v.Name, userHome, p.getenv("XDG_CONFIG_HOME")),
		home: home, system: system,
	}
	if kind == service.Launchd {
		d.Text, err = service.LaunchdPlist(v)
	} else {
		d.Text, err = service.SystemdUnit(v)
	}
	if err != nil {
		return definition{}, &ops.Error{Code: ops.CodeInvalid, Message: err.Error(), Hint: "use paths without such characters"}
	}
	d.Next = d.next()
	if system && v.User == "" {
		d.Warning = "the service runs as root, and so does every tool; give the home to a user of its own to change that"
	}
	return d, nil
}

// serviceName is the name of the service for the gateway on home.
func (p *program) serviceName(home string) string {
	usual, err := instance.Resolve("", func(name string) string {
		if name == "GATEWAYTUI_HOME" {
			return "" // it names another than the default one
		}
		return p.getenv(name)
	})
	if err != nil {
		usual = "" // nobody has one here
	}
	return service.Name(home, usual)
}

// next is what the manager is told once the definition is in place.
func (d definition) next() []string {
	switch {
	case d.Manager == service.Launchd && d.system:
		return []string{"sudo launchctl bootstrap system " + d.Path}
	case d.Manager == service.Launchd:
		return []string{"launchctl bootstrap gui/$(id -u) " + d.Path}
	case d.system:
		return []string{"systemctl daemon-reload && systemctl enable --now " + d.Name + ".service"}
	}
	return []string{
		"systemctl --user daemon-reload && systemctl --user enable --now " + d.Name + ".service",
		"loginctl enable-linger   # so that it starts with the machine and outlives your login",
	}
}

// install puts the definition in place in one step; false if it is there already. What somebody else wrote there, or
// changed, is left alone unless force.
func (d definition) install(force bool) (bool, error) {
	old, err := readDefinition(d.Path)
	if err != nil {
		if !force {
			return false, &ops.Error{
				Code: ops.CodeConflict, Message: fmt.Sprintf("%s cannot be read and may be somebody's: %v", d.Path, err),
				Hint: "look at it; --force replaces it",
			}
		}
		old = nil
	}
	switch {
	case old != nil && string(old) == d.Text:
		return false, nil
	case old == nil || force:
	case service.Edited(string(old)):
		return false, &ops.Error{
			Code: ops.CodeConflict, Message: d.Path + " was edited by hand, and is left as it is",
			Hint: "keep your changes in a drop-in (systemctl edit) and add --force, which keeps this file as .old; gatewaytui doctor lists what differs",
		}
	case service.HomeOf(string(old)) != d.home:
		return false, &ops.Error{
			Code: ops.CodeConflict, Message: fmt.Sprintf("%s is the service of another home, %s", d.Path, service.HomeOf(string(old))),
			Hint: "print this one and install it under another name, or replace that one with --force",
		}
	}
	// The folders on the way there are the user's own or the machine's, with the modes that these have.
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o755); err != nil {
		return false, fmt.Errorf("make the folder for the service definition: %w", err)
	}
	if old != nil && service.Edited(string(old)) {
		if err := put(d.Path+".old", old, d.mode()); err != nil {
			return false, fmt.Errorf("keep the edited service definition: %w", err)
		}
	}
	if err := put(d.Path, []byte(d.Text), d.mode()); err != nil {
		return false, fmt.Errorf("write the service definition: %w", err)
	}
	return true, nil
}

// mode: the machine's definitions are for everybody to read, a user's are the user's.
func (d definition) mode() fs.FileMode {
	if d.system {
		return 0o644
	}
	return 0o600
}

func put(path string, text []byte, mode fs.FileMode) error {
	return renameio.WriteFile(path, text, mode, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(mode))
}

// maxDefinition bounds what is read of an installed definition, in bytes. Ours have some thousand.
const maxDefinition = 256 << 10

// readDefinition is an installed definition, nil if there is none. It waits for nothing and follows no link: a masked unit
// is one to /dev/null (systemctl(1)).
func readDefinition(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case errors.Is(err, syscall.ELOOP):
		return nil, errors.New("it is a symbolic link")
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is no regular file"))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDefinition+1))
	if err == nil && len(text) > maxDefinition {
		err = syscall.EFBIG
	}
	return text, err
}

// stopPlan is the plan of a stop with this config, for its figures.
func stopPlan(c config.Config) shutdown.Plan {
	s := c.Shutdown
	return shutdown.Standard(shutdown.Budgets{
		Drain: s.DrainTimeout.Duration, Notify: s.NotifyTimeout.Duration, InterruptGrace: s.InterruptGrace.Duration,
		KillGrace: c.Process.KillGrace.Duration, Agent: s.AgentTimeout.Duration, Adapter: s.AdapterTimeout.Duration,
		Background: s.BackgroundTimeout.Duration, Store: s.StoreTimeout.Duration,
	})
}

// credentialVariables are the variables that this config does read secrets from: those of what is enabled.
func credentialVariables(c config.Config) []string {
	if c.Model.Provider == "scripted" {
		c.Model.APIKeyEnv = ""
	}
	if !c.Adapters.API.Enabled {
		c.Adapters.API.KeyEnv = ""
	}
	if !c.Adapters.Telegram.Enabled {
		c.Adapters.Telegram.TokenEnv = ""
	}
	return c.SecretVariables()
}

// ownerOf is the name of the user whom the home belongs to, or will if it is not there yet; empty for root.
func ownerOf(home string) string {
	uid := os.Geteuid()
	if fi, err := os.Stat(home); err == nil {
		if st, ok := fi.Sys().(*syscall.Stat_t); ok {
			uid = int(st.Uid)
		}
	}
	if uid == 0 {
		return ""
	}
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id // systemd takes a number as well
}
