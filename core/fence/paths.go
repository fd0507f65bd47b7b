package fence

import (
	"path"
	"slices"
	"strings"

	"gatewaytui/core/term"
)

// set makes a set of words.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// under reports whether p is dir or below it. Both are clean and absolute.
func under(p, dir string) bool {
	return dir != "" && (p == dir || dir == "/" || strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}

// paths is where a word leads as the name of a file, seen from each folder in which the command may run; nil: not known.
func (s *scope) paths(text string) []string {
	if strings.HasPrefix(text, "/") {
		return []string{s.links.rebased(path.Clean(text))}
	}
	if s.folders == nil {
		return nil
	}
	all := make([]string, len(s.folders))
	for i, dir := range s.folders {
		all[i] = join(dir, text)
	}
	return all
}

// join is path.Join, and faster for a name in a folder. dir is clean.
func join(dir, name string) string {
	if dir == "/" || name == "" || name[len(name)-1] == '/' || name[0] == '.' || strings.Contains(name, "//") || strings.Contains(name, "/.") {
		return path.Join(dir, name)
	}
	return dir + "/" + name
}

// wildcard is where the first wildcard of a pattern is; -1: there is none.
func wildcard(p string) int {
	for i := range len(p) {
		if c := p[i]; c == '*' || c == '?' || c == '[' {
			return i
		}
	}
	return -1
}

// fixed is the part of a pattern before its first wildcard, up to a slash.
func fixed(p string) string {
	i := wildcard(p)
	if i < 0 {
		return p
	}
	return path.Clean("/" + p[:strings.LastIndexByte(p[:i+1], '/')+1])
}

// matches reports whether pattern, of names of files, may stand for p or for a folder above it.
func matches(pattern, p string) bool {
	if wildcard(pattern) < 0 {
		return pattern == p
	}
	if dir, deep := strings.CutSuffix(pattern, "/**"); deep {
		return under(p, fixed(dir))
	}
	if !strings.HasPrefix(p, pattern[:wildcard(pattern)]) {
		return false
	}
	want, have := strings.Split(pattern, "/"), strings.Split(p, "/")
	if len(want) > len(have) {
		return false
	}
	for i, w := range want {
		if ok, err := path.Match(w, have[i]); err != nil && !strings.ContainsAny(w, "[") || err == nil && !ok {
			return false
		}
	}
	return true
}

// aims reports whether a pattern that names a part of each step may stand for p; its first wildcard is at i.
func aims(pattern, p string, i int) bool {
	if !strings.HasPrefix(p, pattern[:i]) || strings.Count(pattern, "/") != strings.Count(p, "/") {
		return false
	}
	for w := range strings.SplitSeq(strings.TrimPrefix(pattern, "/"), "/") {
		if strings.Trim(w, "*?.") == "" {
			return false
		}
	}
	return matches(pattern, p)
}

// inHome is the path p below the home folder of a user.
func (f *Fence) inHome(p string) (rest string, ok bool) {
	for _, home := range [...]string{f.Home, "/root"} {
		if home != "" && home != "/" && under(p, home) {
			return strings.TrimPrefix(p[len(home):], "/"), true
		}
	}
	for _, all := range [...]string{"/home/", "/Users/"} {
		if rest, is := strings.CutPrefix(p, all); is {
			_, rest, _ = strings.Cut(rest, "/")
			return rest, true
		}
	}
	return "", false
}

// secretFiles are the credentials in a home that no command of an agent needs to read, and the folders that hold them.
var secretFiles = []string{
	".gnupg", ".aws/credentials", ".netrc", ".git-credentials", ".pgpass", ".my.cnf", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml",
	".config/gcloud", ".azure", ".local/share/keyrings", ".password-store", ".pypirc", ".npmrc", ".cargo/credentials.toml", ".config/rclone/rclone.conf", ".vault-token",
}

// systemSecrets are those of the machine.
var systemSecrets = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/sudoers.d", "/proc/kcore", "/dev/mem", "/dev/kmem"}

// openProcess are the files of a process in /proc that show what is in it.
var openProcess = set("environ mem auxv")

// hides reports whether something secret is below the work folder, or the work folder is itself below it. Where it is not, the
// paths in the work folder need no look at each secret.
func (f *Fence) hides() bool {
	meets := func(one, dir string) bool { return one != "" && (under(one, dir) || under(dir, one)) }
	for _, own := range f.Own {
		if meets(own, f.Work) {
			return true
		}
	}
	for _, one := range systemSecrets {
		if meets(one, f.Work) {
			return true
		}
	}
	for _, one := range [...]string{f.Home, "/root", "/home", "/Users", "/etc/ssh", "/proc"} {
		if under(one, f.Work) {
			return true
		}
	}
	rest, inHome := f.inHome(f.Work)
	return inHome && (rest == "" || rest[0] == '.') || !path.IsAbs(f.Work) || under(f.Work, "/proc") || under(f.Work, "/etc") // the secrets of a home begin with a dot
}

// stays reports whether a word leads, as the name of a file, to the work folder where that holds no secrets.
func (s *scope) stays(text string) bool {
	return s.open && s.links == nil && text[0] != '/' && !strings.Contains(text, "..") && !slices.ContainsFunc(s.folders, func(dir string) bool { return !under(dir, s.fence.Work) })
}

// secret says what kind of secret a path is; empty: none.
func (s *scope) secret(p string) string {
	if s.open && under(p, s.fence.Work) {
		return ""
	}
	return s.fence.secret(p)
}

// secret says what kind of secret a path is; empty: none. A pattern is one if it may match one.
func (f *Fence) secret(p string) string {
	if i := strings.Index(p, "/**"); i >= 0 { // what find found below a folder
		p = p[:max(i, 1)]
	}
	wild := wildcard(p) // where the first wildcard is
	for _, own := range f.Own {
		if own != "" && !(under(p, f.Work) && under(f.Work, own)) && (under(p, own) || wild >= 0 && aims(p, own, wild)) {
			return "belongs to the gateway"
		}
	}
	for _, one := range systemSecrets {
		if under(p, one) || wild >= 0 && aims(p, one, wild) {
			return "holds secrets of the system"
		}
	}
	switch {
	case strings.HasPrefix(p, "/etc/ssh/ssh_host_") && !strings.HasSuffix(p, ".pub"):
		return "is a private key of the system"
	case strings.HasPrefix(p, "/proc/") && strings.Count(p, "/") > 2 && openProcess[path.Base(p)]:
		return "holds the memory or the variables of a process"
	}
	if rest, ok := f.inHome(p); ok && rest != "" {
		return homeSecret(rest, wild-(len(p)-len(rest)))
	}
	return ""
}

// homeSecret is secret for a path below a home folder.
func homeSecret(rest string, wild int) string {
	if dir, file, _ := strings.Cut(rest, "/"); matchesName(dir, ".ssh") && !publicKey(file) {
		return "holds private keys"
	}
	for _, one := range secretFiles {
		if under(rest, one) || wild >= 0 && aims(rest, one, wild) {
			return "holds credentials"
		}
	}
	return ""
}

// matchesName reports whether a pattern that is not a wildcard alone may be name.
func matchesName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return pattern == name || err == nil && ok && strings.Trim(pattern, "*.") != ""
}

// publicKey reports whether a file of ~/.ssh is not a secret.
func publicKey(file string) bool {
	return strings.HasSuffix(file, ".pub") || strings.HasPrefix(file, "known_hosts") || file == "config" || file == "authorized_keys"
}

// above reports whether something secret is below the folder p.
func (f *Fence) above(p string) bool {
	all := slices.Concat(f.Own, systemSecrets, []string{f.Home + "/.ssh", "/root/.ssh", "/home/x/.ssh"})
	return slices.ContainsFunc(all, func(one string) bool { return one != "" && one != p && under(one, p) })
}

// mayBe reports whether a pattern may stand for something secret.
func (f *Fence) mayBe(pattern string) bool {
	secret := func(one string) bool { return one != "" && matches(pattern, one) }
	return slices.ContainsFunc(f.Own, secret) || slices.ContainsFunc(systemSecrets, secret)
}

// device says what a path is if it is not a file: a disk, or a door to the kernel.
func device(p string) string {
	if p == "/proc/sysrq-trigger" || p == "/dev/mem" || p == "/dev/kmem" || p == "/dev/port" {
		return "the kernel"
	}
	name, is := strings.CutPrefix(p, "/dev/")
	if !is {
		return ""
	}
	for _, disk := range []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "nbd", "zd", "sr", "disk", "mapper/", "rdisk", "pmem", "disk/", "block/", "root"} {
		if strings.HasPrefix(name, disk) {
			return "a disk"
		}
	}
	return ""
}

// everyone are folders whose files any user of the machine may read, and which hold programs and settings.
var everyone = []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/sys", "/tmp", "/var/tmp", "/nix/store"}

// openProc are the files of /proc about the machine, not about a process.
var openProc = set("cpuinfo meminfo loadavg uptime version stat mounts filesystems partitions diskstats vmstat swaps modules cmdline devices interrupts net/dev self/status self/mounts self/cgroup self/limits")

// reads says what speaks against reading a file.
func (s *scope) reads(f field) []found { return s.readsBelow(f, false) }

// readsBelow says what speaks against reading a file, or with deep all files below a folder.
func (s *scope) readsBelow(f field, deep bool) []found {
	all := s.leads(f.text)
	switch {
	case f.text == "-" && f.exact():
		return nil
	case f.trust == unknown || all == nil:
		return []found{{opaque, "it reads a file whose name is known only when it runs: " + shown([]field{f})}}
	case f.trust == guessed:
		return append(s.read(all, f.glob, deep), found{opaque, "it reads a file whose name comes from a variable or a program: " + f.text})
	}
	return s.read(all, f.glob, deep)
}

func (s *scope) read(all []string, glob, deep bool) []found {
	for _, p := range all {
		if kind := s.secret(p); kind != "" {
			return []found{{host, "it reads " + p + ", which " + kind}}
		}
	}
	for _, p := range all {
		begin := p
		if glob {
			begin = fixed(p)
		}
		switch {
		case (deep || strings.Contains(p, "/**")) && s.fence.above(begin), glob && s.fence.mayBe(p):
			return []found{{plain, "it reads all below " + begin + ", where secrets are"}}
		case mayBeSecret(path.Base(p)):
			return []found{{plain, "it reads " + p + ", which may hold secrets"}}
		case strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/"):
			return []found{{plain, "it opens a connection to the network: " + p}}
		case !s.fence.open(p, begin):
			return []found{{plain, "it reads " + p + ", which is outside the work folder"}}
		}
	}
	return nil
}

// mayBeSecret reports whether files of this name often hold secrets.
func mayBeSecret(name string) bool {
	for _, begin := range []string{".env", "id_", "credentials"} {
		if strings.HasPrefix(name, begin) && name != ".env.example" {
			return true
		}
	}
	return strings.HasSuffix(name, ".pem") || strings.HasSuffix(name, ".key")
}

// openDevices can be read by everyone, and have no end or no content.
var openDevices = set("/dev/null /dev/zero /dev/stdin /dev/urandom /dev/random")

// open reports whether a path may be read without a question; begin is its part before a wildcard.
func (f *Fence) open(p, begin string) bool {
	return under(begin, f.Work) || slices.ContainsFunc(everyone, func(dir string) bool { return under(begin, dir) }) ||
		openDevices[p] || strings.HasPrefix(p, "/dev/fd/") || strings.HasPrefix(p, "/proc/") && openProc[p[len("/proc/"):]]
}

// namesOnly are programs that look at the name or the properties of a file and not into it, or need the key that they are given.
var namesOnly = set("ls dir vdir stat test [ [[ echo printf chmod chown chgrp readlink realpath basename dirname find du file touch mkdir ssh scp sftp ssh-add ssh-keygen cd pushd true false : tree sleep type which")

// betrayals says which words name files that no command is to touch.
func (s *scope) betrayals(name string, args []field) []found {
	if namesOnly[name] {
		return nil
	}
	for _, f := range args {
		text := f.text
		if i := strings.LastIndexAny(text, "=@"); i >= 0 && !strings.HasPrefix(text, "/") {
			text = text[i+1:]
			if home, is := strings.CutPrefix(text, "~/"); is {
				text = s.fence.Home + "/" + home
			}
		}
		if f.trust == unknown || text == "" || strings.HasPrefix(text, "-") || strings.IndexByte(text, '\n') >= 0 || s.stays(text) {
			continue
		}
		for _, p := range s.leads(text) {
			if kind := s.secret(p); kind != "" {
				return []found{{host, "it names " + p + ", which " + kind}}
			}
		}
	}
	return nil
}

// secretName reports whether the name of a variable says that it holds a secret.
func secretName(name string) bool { return term.SecretName(name) }
