package landlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Prepare returns the rules of every command: the system and read to read, the usual devices and write to change, and
// nothing of hidden, also where it lies below a path of the others: then each neighbour on the way is a rule of its own, and
// nothing new can be made next to it. Links are followed here, once, and never again. A path of read or write that cannot
// be used is an error that names it.
func Prepare(read, write, hidden []string, network bool) (Rules, error) {
	r := Rules{Network: network}
	for i, path := range hidden {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			hidden = append(slices.Clone(hidden[:i]), append([]string{real}, hidden[i+1:]...)...)
		}
	}
	add := func(to *[]string, path string, must bool) error {
		real, err := filepath.EvalSymlinks(path)
		if err != nil && !must {
			return nil
		} else if err != nil {
			return fmt.Errorf("use %s in an environment: %w", path, err)
		}
		paths, err := without(real, hidden)
		for _, path := range paths {
			if !slices.Contains(*to, path) {
				*to = append(*to, path)
			}
		}
		return err
	}
	var errs []error
	for _, path := range system {
		errs = append(errs, add(&r.Read, path, false))
	}
	for _, path := range read {
		errs = append(errs, add(&r.Read, path, true))
	}
	for _, path := range devices {
		errs = append(errs, add(&r.Write, path, false))
	}
	for _, path := range write {
		errs = append(errs, add(&r.Write, path, true))
	}
	return r, errors.Join(errs...)
}

// With returns the rules with further paths to change: the work folder of a command, the home of its agent. They count as
// they are named: none may have a link on its way.
func (r Rules) With(write ...string) Rules {
	r.Write = append(slices.Clone(r.Write), write...)
	return r
}

// without is path, or what of it remains if something below it is hidden.
func without(path string, hidden []string) ([]string, error) {
	below := func(at string) bool { return at == path || strings.HasPrefix(at, strings.TrimSuffix(path, "/")+"/") }
	inside := func(at string) bool { return strings.HasPrefix(path, strings.TrimSuffix(at, "/")+"/") }
	switch {
	case slices.Contains(hidden, path), slices.ContainsFunc(hidden, inside):
		return nil, nil
	case !slices.ContainsFunc(hidden, below):
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
