package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/google/renameio/v2"

	"gatewaytui/core/config"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// Definition is a service definition and where it belongs, as scripts see it.
type Definition struct {
	Manager Kind   `json:"manager"`
	Path    string `json:"path"`
	Text    string `json:"text"`
	// Name is the service's name: gatewaytui for the default home, else a name with the home in it.
	Name string `json:"name"`
	// Written is whether it was installed; false where the same definition was there already.
	Written bool `json:"written"`
	// Next is what to run so that the manager loads it.
	Next []string `json:"next"`
	// Warning is what should be changed first; empty: nothing.
	Warning string `json:"warning"`

	home   string
	system bool
}

// Define computes the definition for the gateway on home. It creates and changes nothing.
func Define(kind Kind, system bool, loaded config.Loaded, home string, getenv func(string) string) (Definition, error) {
	exec, err := os.Executable()
	if err != nil {
		return Definition{}, fmt.Errorf("find this program's path: %w", err)
	}
	v := Values{
		Name: NameFor(home, getenv), Exec: exec, Home: home, StopTimeout: shutdown.Standard(loaded.Config.StopBudgets()).TimeoutStopSec(), System: system,
		Environment: map[string]string{}, Credentials: credentialVariables(loaded.Config),
	}
	if loaded.Source != config.Embedded {
		if v.Config, err = filepath.Abs(loaded.Source); err != nil {
			return Definition{}, fmt.Errorf("find the config %s: the working directory is gone: %w", loaded.Source, err)
		}
	}
	// The environment of this shell counted for the plan, and the service has another environment.
	for _, value := range loaded.Values() {
		if name := value.Origin.Variable; name != "" {
			v.Environment[name] = getenv(name)
		}
	}
	if system {
		v.User = ownerOf(home)
	}
	userHome := getenv("HOME")
	if !system && !filepath.IsAbs(userHome) {
		return Definition{}, &ops.Error{Code: ops.CodeInvalid, Message: "HOME is not set, so the folder of your services is unknown", Hint: "set HOME, or use --system"}
	}
	d := Definition{
		Manager: kind, Name: v.Name, Path: InstallPath(kind, system, v.Name, userHome, getenv("XDG_CONFIG_HOME")),
		home: home, system: system,
	}
	if kind == Launchd {
		d.Text, err = LaunchdPlist(v)
	} else {
		d.Text, err = SystemdUnit(v)
	}
	if err != nil {
		return Definition{}, &ops.Error{Code: ops.CodeInvalid, Message: err.Error(), Hint: "use paths without such characters"}
	}
	d.Next = d.next()
	if system && v.User == "" {
		d.Warning = "the service runs as root, and so does every tool; to change that, give the home to a separate user"
	}
	return d, nil
}

// NameFor is the name of the service for the gateway on home.
func NameFor(home string, getenv func(string) string) string {
	usual, _ := instance.Resolve("", func(name string) string {
		if name == "GATEWAYTUI_HOME" {
			return "" // it names another home than the default one
		}
		return getenv(name)
	}) // empty: there is no default home here
	return Name(home, usual)
}

// next are the commands for the manager after the definition is installed.
func (d Definition) next() []string {
	switch {
	case d.Manager == Launchd && d.system:
		return []string{"sudo launchctl bootstrap system " + d.Path}
	case d.Manager == Launchd:
		return []string{"launchctl bootstrap gui/$(id -u) " + d.Path}
	case d.system:
		return []string{"systemctl daemon-reload && systemctl enable --now " + d.Name + ".service"}
	}
	return []string{
		"systemctl --user daemon-reload && systemctl --user enable --now " + d.Name + ".service",
		"loginctl enable-linger   # so that it starts with the machine and outlives your login",
	}
}

// Install writes the definition in one step; false if it is there already. A definition that was edited or written by
// another program is left alone unless force.
func (d Definition) Install(force bool) (bool, error) {
	old, err := ReadDefinition(d.Path)
	if err != nil {
		if !force {
			return false, &ops.Error{
				Code: ops.CodeConflict, Message: fmt.Sprintf("%s cannot be read and may belong to another program: %v", d.Path, err),
				Hint: "check it; --force replaces it",
			}
		}
		old = nil
	}
	switch {
	case old != nil && string(old) == d.Text:
		return false, nil
	case old == nil || force:
	case Edited(string(old)):
		return false, &ops.Error{
			Code: ops.CodeConflict, Message: d.Path + " was edited by hand and was not changed",
			Hint: "keep your changes in a drop-in (systemctl edit) and add --force, which keeps this file as .old; gatewaytui doctor lists what differs",
		}
	case HomeOf(string(old)) != d.home:
		return false, &ops.Error{
			Code: ops.CodeConflict, Message: fmt.Sprintf("%s is the service of another home, %s", d.Path, HomeOf(string(old))),
			Hint: "print this one and install it under another name, or replace that one with --force",
		}
	}
	// The missing parent folders belong to the user or the machine, with the modes that those expect.
	if err := os.MkdirAll(filepath.Dir(d.Path), 0o755); err != nil {
		return false, fmt.Errorf("make the folder for the service definition: %w", err)
	}
	if old != nil && Edited(string(old)) {
		if err := put(d.Path+".old", old, d.mode()); err != nil {
			return false, fmt.Errorf("keep the edited service definition: %w", err)
		}
	}
	if err := put(d.Path, []byte(d.Text), d.mode()); err != nil {
		return false, fmt.Errorf("write the service definition: %w", err)
	}
	return true, nil
}

// mode: every user may read the machine's definitions; a user's are private.
func (d Definition) mode() fs.FileMode {
	if d.system {
		return 0o644
	}
	return 0o600
}

func put(path string, text []byte, mode fs.FileMode) error {
	return renameio.WriteFile(path, text, mode, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(mode))
}

// maxDefinition bounds what is read of an installed definition, in bytes. The gateway's own have a few thousand.
const maxDefinition = 256 << 10

// ReadDefinition reads an installed definition; nil if there is none. It never waits and follows no link: a masked unit
// is a link to /dev/null (systemctl(1)).
func ReadDefinition(path string) ([]byte, error) {
	text, err := instance.ReadFile(path, maxDefinition)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case errors.Is(err, syscall.ELOOP):
		return nil, errors.New("it is a symbolic link")
	}
	return text, err
}

// credentialVariables are the variables that this config reads secrets from, and those of external adapters, for the enabled parts only.
func credentialVariables(c config.Config) []string {
	models := c.ModelsByName()
	c.Model.APIKeyEnv, c.Models = "", map[string]*config.Model{}
	for name, m := range models {
		if m.Provider != config.Scripted {
			c.Models[name] = &m
		}
	}
	c.Adapters = c.Adapters.OnlyEnabled()
	all := c.SecretVariables()
	for _, e := range c.Adapters.External {
		all = append(all, e.SecretVariables()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownerOf is the name of the user that owns the home, or will own it if it does not exist yet; empty for root.
func ownerOf(home string) string {
	uid := os.Geteuid()
	if fi, err := os.Stat(home); err == nil {
		uid = instance.Owner(fi)
	}
	if uid == 0 {
		return ""
	}
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id // systemd accepts a number as well
}
