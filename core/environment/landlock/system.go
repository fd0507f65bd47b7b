package landlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/environment/links"
)

// system is what programs need of a machine to run at all. What does not exist is left out. Of /etc only what carries no
// secret is listed: with it, a tool of root would read /etc/shadow and the keys of services.
var system = strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix/store /run/current-system /snap /sys /proc
	/run/systemd/resolve /run/resolvconf
	/etc/alternatives /etc/bash.bashrc /etc/bashrc /etc/ca-certificates /etc/ca-certificates.conf /etc/debian_version
	/etc/default/locale /etc/environment /etc/fonts /etc/gai.conf /etc/gitconfig /etc/group /etc/host.conf /etc/hostname
	/etc/hosts /etc/inputrc /etc/java /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/localtime /etc/locale.alias
	/etc/locale.conf /etc/lsb-release /etc/magic /etc/mime.types /etc/networks /etc/nsswitch.conf /etc/os-release
	/etc/passwd /etc/perl /etc/pip.conf /etc/pki/tls/certs /etc/pki/ca-trust /etc/profile /etc/profile.d /etc/protocols
	/etc/resolv.conf /etc/rpc /etc/services /etc/shells /etc/skel /etc/ssl/certs /etc/ssl/cert.pem /etc/ssl/openssl.cnf
	/etc/terminfo /etc/timezone /etc/vim /etc/wgetrc /etc/xdg`)

// devices are those that every program may use. A terminal of the command is one of /dev/pts.
var devices = strings.Fields("/dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/tty /dev/urandom /dev/zero")

// mostExpanded bounds the paths that Prepare makes of one folder with something hidden below it.
const mostExpanded = 4096

// Paths are what rules are made of. All are absolute.
type Paths struct {
	// Read and Write come from a config: further paths to read and run, and to change.
	Read, Write []string
	// Own are folders of the gateway's choice to change: a work folder, the home of an agent. They may lie below a hidden path.
	Own []string
	// Hidden are out of reach, also below one of the others: then each neighbour on the way has a rule of its own, and nothing new can
	// be made next to it.
	Hidden []string
}

// Prepare returns the rules for commands: the system to read, the usual devices to change, and the paths. Links are followed here, once, and never
// again. Of Read and Write none may lead through a link that commands could have put there. The error names the path that cannot be used.
func Prepare(p Paths, network bool) (Rules, error) {
	r := Rules{Network: network}
	hidden := links.Follow(p.Hidden)
	errs := []error{links.Check(slices.Concat(p.Read, p.Write), slices.Concat(p.Write, p.Own))}
	add := func(to *[]string, path string, must bool, hidden []string) {
		at, err := filepath.EvalSymlinks(path)
		if err != nil && !must {
			return
		}
		var paths []string
		if err == nil {
			paths, err = without(at, hidden)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("use %s in an environment: %w", path, err))
		}
		for _, path := range paths {
			if !slices.Contains(*to, path) {
				*to = append(*to, path)
			}
		}
	}
	for _, path := range system {
		add(&r.Read, path, false, hidden)
	}
	for _, path := range devices {
		add(&r.Write, path, false, hidden)
	}
	for _, path := range p.Read {
		add(&r.Read, path, true, hidden)
	}
	for _, path := range p.Write {
		add(&r.Write, path, true, hidden)
	}
	for _, path := range p.Own {
		at := links.Follow([]string{path})[0]
		if slices.Contains(hidden, at) {
			errs = append(errs, fmt.Errorf("use %s in an environment: it belongs to the gateway", path))
			continue
		}
		add(&r.Write, path, true, slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return links.Below(at, h) }))
	}
	return r, errors.Join(errs...)
}

// without is path, or what of it remains if something below it is hidden.
func without(path string, hidden []string) ([]string, error) {
	switch {
	case slices.ContainsFunc(hidden, func(h string) bool { return links.Below(path, h) }):
		return nil, nil
	case !slices.ContainsFunc(hidden, func(h string) bool { return links.Below(h, path) }):
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("leave out what is hidden below %s: %w", path, err)
	}
	var paths []string
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink != 0 {
			continue // what it leads to has a rule of its own, or none
		}
		more, err := without(filepath.Join(path, entry.Name()), hidden)
		if err != nil {
			return nil, err
		}
		if paths = append(paths, more...); len(paths) > mostExpanded {
			return nil, fmt.Errorf("%s has too many entries around what is hidden below it: name the folders that commands need", path)
		}
	}
	return paths, nil
}
