package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatewaytui/core/environment"
	"gatewaytui/core/process"
)

// Probe implements environment.Driver: it runs a shell with the flags that every command gets. It takes about 10 ms where bubblewrap works.
func (d *Driver) Probe(ctx context.Context) (string, error) {
	if d.path = find(cmp.Or(d.opts.Program, program)); d.path == "" {
		return "", errors.New("bubblewrap is not installed (no bwrap in PATH); install the package bubblewrap")
	}
	if d.opts.Clear {
		// What cannot be removed now is not in the way of new folders.
		if old, _ := os.ReadDir(d.opts.Temporary); len(old) > 0 {
			_ = environment.RemoveFolder(ctx, d.opts.Temporary)
		}
	}
	if err := os.MkdirAll(d.opts.Temporary, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for temporary files of sandboxes: %w", err)
	}
	dir, err := os.MkdirTemp(d.opts.Temporary, "probe-")
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer os.RemoveAll(dir)
	text, err := d.try(ctx, dir)
	if err != nil && strings.Contains(text, "disable-userns") { // an option that this version does not know
		d.nested = nil
		text, err = d.try(ctx, dir)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, Explain(text, err, func(name string) string {
			value, _ := os.ReadFile(filepath.Join("/proc/sys", name)) // absent: the machine has no such setting
			return strings.TrimSpace(string(value))
		}))
	}
	return "bubblewrap, " + d.path, nil
}

// find is the path of a program; empty: PATH does not have it.
func find(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// probeGrace is how long the end of a probe that hangs may take.
const probeGrace = time.Second

// try runs the probe once and returns its output.
func (d *Driver) try(ctx context.Context, dir string) (string, error) {
	b := &box{driver: d, tmp: dir, use: environment.Use{Workdir: dir, Home: dir}}
	var err error
	if b.mounts, err = mounts(view{own: []string{dir}, hidden: d.opts.Hidden}); err != nil {
		return "", err
	}
	cmd := environment.Command{Argv: []string{"bash", "-c", ":"}, Background: true}
	p, err := d.opts.Spawn(ctx, process.Spec{
		Argv: b.arguments(cmd, dir, cmd.Argv), Dir: "/", Policy: process.PolicyGateway, Command: "probe of the sandbox", Env: []string{"LC_ALL=C"},
	})
	if err != nil {
		return "", err
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeGrace) // it must not stay
		defer cancel()
		p.Kill(kill, 0)
		return "", err
	}
	text, _ := p.Output()
	if exit.Code != 0 {
		return text, fmt.Errorf("exit code %d: %s", exit.Code, cmp.Or(p.LastLine(), "no output"))
	}
	return text, nil
}

// The settings of the kernel that forbid user namespaces.
const (
	settingAppArmor = "kernel/apparmor_restrict_unprivileged_userns" // Ubuntu 23.10 and later
	settingClone    = "kernel/unprivileged_userns_clone"             // Debian's kernels before 11
	settingMost     = "user/max_user_namespaces"
)

// Explain says why bwrap failed, with what to do. text is its output, err how it ended, and setting returns a setting of /proc/sys; empty: there is
// none.
func Explain(text string, err error, setting func(name string) string) error {
	denied := strings.Contains(text, "Permission denied") || strings.Contains(text, "Operation not permitted") || strings.Contains(text, "No permissions")
	switch {
	case setting(settingMost) == "0":
		return fmt.Errorf("user namespaces are switched off; set user.max_user_namespaces to a number above 0, for example in /etc/sysctl.d (%w)", err)
	case denied && setting(settingClone) == "0":
		return fmt.Errorf("user namespaces are forbidden to ordinary users; run \"sudo sysctl -w kernel.unprivileged_userns_clone=1\" and put it into /etc/sysctl.d (%w)", err)
	case strings.Contains(text, "mount proc"):
		return fmt.Errorf("parts of /proc are hidden here, as in most containers, so no new one can be mounted; run the gateway outside of the container, or choose the environment \"local\" and let the container be the fence (%w)", err)
	case denied && setting(settingAppArmor) == "1":
		return fmt.Errorf("AppArmor forbids user namespaces to ordinary programs, as Ubuntu does since 23.10. Write this to /etc/apparmor.d/bwrap and run "+
			"\"sudo apparmor_parser -r /etc/apparmor.d/bwrap\": %s (%w)", appArmorProfile, err)
	case denied:
		return fmt.Errorf("the system forbids user namespaces: a container, a service with RestrictNamespaces= or a policy of the kernel does so (%w)", err)
	}
	return err
}

// appArmorProfile lets bwrap make user namespaces, and nothing else that it could not do before.
const appArmorProfile = `abi <abi/4.0>, include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`
