package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/environment/links"
)

// system is what programs need of a machine, read-only. Of /etc it has what carries no secret. What does not exist is left out, and a link stays a
// link.
var system = strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix/store /run/current-system
	/etc/alternatives /etc/bash.bashrc /etc/bashrc /etc/ca-certificates /etc/ca-certificates.conf /etc/debian_version
	/etc/fonts /etc/gai.conf /etc/group /etc/host.conf /etc/hosts /etc/inputrc /etc/java /etc/ld.so.cache /etc/ld.so.conf
	/etc/ld.so.conf.d /etc/localtime /etc/locale.alias /etc/locale.conf /etc/lsb-release /etc/magic /etc/mime.types
	/etc/networks /etc/nsswitch.conf /etc/os-release /etc/passwd /etc/perl /etc/pki/tls/certs /etc/pki/ca-trust
	/etc/profile /etc/profile.d /etc/protocols /etc/rpc /etc/services /etc/shells /etc/ssl/certs /etc/ssl/cert.pem
	/etc/ssl/openssl.cnf /etc/terminfo /etc/timezone /etc/vim /etc/xdg`)

// resolver is what looking up names needs as well.
const resolver = "/etc/resolv.conf"

// view is what the commands of one session see of the machine's files.
type view struct {
	read, write []string // further paths of the definition
	// own are paths of the gateway's choice, which may lie below a hidden one: the first ownRead of them can be read, the others
	// written.
	own     []string
	ownRead int
	hidden  []string
	network bool
}

// mount is one path of a sandbox.
type mount struct {
	at   string // inside
	from string // the real path on the machine
	flag string
}

// flags of bwrap.
const (
	readOnly = "--ro-bind"
	writable = "--bind"
)

// reserved are places that a sandbox has of its own. A path of a definition may lie below /tmp, and not in the others.
var reserved = []string{"/proc", "/dev"}

// mounts returns the flags that make a view. A path comes after the one that it lies below. An error names the path that cannot be used.
// Links are followed here, once: of read and write none may lead through a link that commands could have put there.
func mounts(v view) ([]string, error) {
	hidden := realPaths(v.hidden)
	var all []mount
	args := []string{"--dir", "/run", "--symlink", "/tmp", "/var/tmp"}
	paths := system
	if v.network {
		paths = append(slices.Clone(paths), resolver)
	}
	for _, path := range paths {
		if target, err := os.Readlink(path); err == nil && filepath.Dir(path) == "/" {
			args = append(args, "--symlink", target, path)
		} else if real, err := filepath.EvalSymlinks(path); err == nil {
			all = put(all, mount{path, real, readOnly})
		}
	}
	errs := []error{links.Check(slices.Concat(v.read, v.write), slices.Concat(v.write, v.own[v.ownRead:]))}
	add := func(path, flag string, own bool) {
		m, err := mountOf(path, flag, own, hidden)
		if err != nil {
			errs = append(errs, err)
			return
		}
		all = put(all, m)
	}
	for _, path := range v.read {
		add(path, readOnly, false)
	}
	for _, path := range v.write {
		add(path, writable, false)
	}
	for i, path := range v.own {
		flag := writable
		if i < v.ownRead {
			flag = readOnly
		}
		add(path, flag, true)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, m := range masks(all, hidden) {
		all = put(all, m)
	}
	slices.SortStableFunc(all, func(a, b mount) int { return strings.Compare(a.at, b.at) }) // a folder before what is in it
	for _, m := range all {
		switch {
		case m.from == "":
			args = append(args, m.flag, m.at)
		default:
			args = append(args, m.flag, m.from, m.at)
		}
	}
	// To root of the machine the kernel lets the parameters be changed in any namespace. bwrap does not cover them, because it looks at the mode of
	// the folder alone (TR10).
	return append(args, "--proc", "/proc", readOnly, "/proc/sys", "/proc/sys", "--dev", "/dev"), nil
}

// put adds a mount, or replaces the one at the same place: a path that is written is more than one that is read.
func put(all []mount, m mount) []mount {
	if i := slices.IndexFunc(all, func(o mount) bool { return o.at == m.at }); i >= 0 {
		all[i] = m
		return all
	}
	return append(all, m)
}

func mountOf(path, flag string, own bool, hidden []string) (mount, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err != nil:
		return mount{}, fmt.Errorf("use %s in a sandbox: %w", path, err)
	case flag == writable && real == "/":
		return mount{}, fmt.Errorf("use %s in a sandbox: commands would change the whole machine; name a folder", path)
	}
	for _, at := range reserved {
		if links.Below(path, at) || links.Below(real, at) {
			return mount{}, fmt.Errorf("use %s in a sandbox: %s is the sandbox's own", path, at)
		}
	}
	for _, h := range hidden {
		if real == h || links.Below(real, h) && !own {
			return mount{}, fmt.Errorf("use %s in a sandbox: it belongs to the gateway (%s)", path, h)
		}
	}
	return mount{filepath.Clean(path), real, flag}, nil
}

// masks cover what is hidden below what is mounted: a folder is empty, a file is /dev/null.
func masks(all []mount, hidden []string) (out []mount) {
	for _, h := range hidden {
		info, err := os.Lstat(h)
		if err != nil {
			continue
		}
		for _, m := range all {
			if h == m.from || !links.Below(h, m.from) {
				continue
			}
			at := filepath.Join(m.at, strings.TrimPrefix(h, m.from))
			if info.IsDir() {
				out = append(out, mount{at: at, flag: "--tmpfs"})
			} else {
				out = append(out, mount{at, os.DevNull, readOnly})
			}
		}
	}
	return slices.DeleteFunc(out, func(mask mount) bool { // what the gateway itself shows there counts
		return slices.ContainsFunc(all, func(m mount) bool { return m.at == mask.at })
	})
}

// realPaths are the paths without links, of those that exist, and as they are named.
func realPaths(paths []string) (out []string) {
	for _, path := range paths {
		out = append(out, filepath.Clean(path))
		if real, err := filepath.EvalSymlinks(path); err == nil && real != filepath.Clean(path) {
			out = append(out, real)
		}
	}
	return out
}
