package fence

import (
	"cmp"
	"slices"
	"strings"
)

// wrapper is a program that runs the command in its last words.
type wrapper struct {
	flags  string // short options without a value
	valued string // short options with a value
	code   string // short options whose value is a shell text
	long   string // long options; with = at the end those that take a value
	skip   int    // words in front of the command, such as the time of timeout
	text   bool   // the rest is one shell text
	sets   bool   // NAME=VALUE may stand in front of the command
	also   string // what speaks against it in any case; empty: it is as harmless as what it runs
}

const (
	otherUser    = " runs it with the rights of another user"
	otherPlace   = " runs it in another place"
	otherMachine = " runs it on another machine"
	traced       = " looks into the process that it runs"
	changed      = " changes what the program meets"
)

// wrappers is the list of programs that run others. Their options are those of GNU and util-linux.
var wrappers = map[string]wrapper{
	"command": {flags: "p"},
	"builtin": {},
	"exec":    {flags: "cl", valued: "a"},
	"nohup":   {},
	"time":    {flags: "p"},
	"timeout": {flags: "fpv", valued: "ks", long: "kill-after= signal= foreground preserve-status verbose", skip: 1},
	"nice":    {flags: "0123456789", valued: "n", long: "adjustment="},
	"ionice":  {flags: "t", valued: "cn"},
	"setsid":  {flags: "cfw", long: "ctty fork wait"},
	"stdbuf":  {valued: "ioe", long: "input= output= error="},
	"env":     {flags: "i0v", valued: "u", code: "S", long: "ignore-environment unset= null debug", sets: true},

	"xargs":    {flags: "0rtx", valued: "dEIiLlnPs", long: "null no-run-if-empty verbose exit max-args= max-procs= max-lines= replace= delimiter= max-chars="},
	"parallel": {flags: "kqX0", valued: "jIaN", long: "jobs= keep-going keep-order", text: true, also: " runs it once for each input"},
	"watch":    {flags: "bcdegptwx", valued: "nq", long: "interval= differences color beep errexit chgexit exec no-title", text: true, also: " runs it again and again"},
	"sudo":     {flags: "AbBEHnPSkKisv", valued: "ugpCchrtTRDU", long: "user= group= preserve-env login shell non-interactive stdin", sets: true, also: otherUser},
	"doas":     {flags: "Lns", valued: "uCa", also: otherUser},
	"su":       {flags: "lmpfP", valued: "gGsw", code: "c", long: "login preserve-environment shell= group=", skip: 1, also: otherUser},
	"runuser":  {flags: "lmpfP", valued: "gGsuw", code: "c", long: "login user= shell=", also: otherUser},
	"pkexec":   {long: "user= disable-internal-agent keep-cwd", also: otherUser},
	"gosu":     {skip: 1, also: otherUser},
	"su-exec":  {skip: 1, also: otherUser},
	"setpriv":  {long: "reuid= regid= clear-groups init-groups no-new-privs", also: otherUser},
	"ssh":      {flags: "46AaCfGgKkMNnqsTtVvXxYy", valued: "BbcDEeFIiJLlmOopQRSWw", skip: 1, text: true, also: otherMachine},
	"mosh":     {skip: 1, also: otherMachine},

	"chroot":      {skip: 1, long: "userspec= groups= skip-chdir", also: otherPlace},
	"unshare":     {flags: "mnpuiUrfcCT", valued: "GRSw", long: "mount net pid user map-root-user fork mount-proc", also: otherPlace},
	"nsenter":     {flags: "mnpuiUCTFrwae", valued: "tGS", long: "target= all mount net pid", also: otherPlace},
	"systemd-run": {flags: "Gqr", valued: "HMptu", long: "user scope unit= property= pty wait collect on-calendar= on-active= uid=", also: otherPlace},
	"tmux":        {skip: 1, text: true, also: otherPlace},
	"screen":      {flags: "dmDRrx", valued: "ScLt", also: otherPlace},
	"start-stop-daemon": {
		flags: "SKbm", valued: "xnpuc", long: "start exec= background", also: otherPlace,
	},

	"strace": {flags: "fFqvxyrtTcCdhiknwz", valued: "abeEIoOpPsSuUX", also: traced},
	"ltrace": {flags: "fSrtTLciC", valued: "aAeFlnopsuxD", also: traced},
	"gdb":    {flags: "qn", valued: "pdDx", long: "args batch ex=", also: traced},
	"perf":   {skip: 1, also: traced}, "valgrind": {also: traced},

	"flock":   {flags: "esxnuoFv", valued: "wE", code: "c", long: "timeout= exclusive shared nonblock", skip: 1, also: " writes a lock file"},
	"script":  {flags: "aefqt", valued: "EIOBTmo", code: "c", long: "quiet flush append command=", skip: 1, also: " writes what the program shows into a file"},
	"chrt":    {flags: "abdfior", skip: 1, also: changed},
	"taskset": {flags: "a", valued: "c", skip: 0, also: changed},
	"prlimit": {long: "nofile= as= cpu= nproc=", also: changed}, "numactl": {also: changed}, "setarch": {skip: 1, also: changed},
	"fakeroot": {also: changed}, "proot": {flags: "0", valued: "rbwqk", also: changed}, "bwrap": {also: otherPlace}, "firejail": {also: otherPlace},
	"busybox": {also: " runs one of its own programs"}, "toybox": {also: " runs one of its own programs"}, "ld.so": {also: " loads any program"},
	"unbuffer": {also: changed}, "rlwrap": {also: changed}, "xvfb-run": {flags: "a", also: changed}, "dbus-run-session": {also: changed}, "proxychains": {flags: "q", valued: "f", also: changed}, "torsocks": {also: changed}, "chronic": {also: changed}, "caffeinate": {flags: "dimsu", also: changed}, "hyperfine": {flags: "iN", valued: "wrmMpS", text: true, also: " runs it again and again"}, "entr": {flags: "acdnprsz", also: " runs it when a file changes"}, "xdotool": {also: changed}, "coproc": {also: changed}, "npx": {also: " may load it from the network"}, "uvx": {also: " may load it from the network"},
}

// unfold judges what a command runs, for those that run others. handled is false for any other command.
func (a *analysis) unfold(s *scope, name string, args []field) (handled bool, all []found) {
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		name = "ld.so"
	}
	switch name {
	case "eval":
		return true, a.evaluated(s, args)
	case "trap":
		return true, a.trapped(s, args)
	case "alias":
		a.aliases(s, args)
		return false, nil
	case "source", ".":
		a.fed(s, name)
		return true, []found{{plain, "it runs the commands of the file " + shown(args[:min(1, len(args))])}}
	case "find":
		return a.findExec(s, args)
	case "command":
		if len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
			return true, nil
		}
	}
	if shells[name] {
		return true, a.shell(s, name, args)
	}
	w, wraps := wrappers[name]
	if !wraps {
		return false, nil
	}
	rest, all := a.unwrap(s, name, w, args)
	if w.also != "" {
		all = append(all, found{plain, name + w.also})
	}
	switch {
	case len(rest) > 0:
		a.wrapped(s, name, w, rest)
	case name == "su" || name == "sudo":
		a.fed(s, name)
	case w.also == "" && !alone[name]:
		all = append(all, found{plain, name + " shows the variables of its environment, and some may hold secrets, or waits for a command"})
	}
	return true, all
}

// alone are the wrappers that are harmless without a command; xargs then runs echo.
var alone = set("exec builtin command xargs")

// wrapped judges the command that a wrapper runs.
func (a *analysis) wrapped(s *scope, name string, w wrapper, rest []field) {
	inner := s
	if name != "command" && name != "builtin" && name != "exec" {
		inner = s.in(name)
		inner.folders, inner.functions = s.folders, nil
	}
	switch {
	case w.text:
		if i := slices.IndexFunc(rest, func(f field) bool { return strings.HasPrefix(f.text, ":::") }); i >= 0 {
			a.inputs(inner, rest[:i], rest[i:])
			rest = rest[:i]
		}
		a.joined(inner, rest)
		return
	case name == "xargs":
		rest = withInput(s, rest)
	}
	if inner == s { // it must not count as a function
		functions := s.functions
		s.functions = nil
		a.simple(s, rest)
		s.functions = functions
		return
	}
	a.simple(inner, rest)
}

// unwrap reads the options of a wrapper and returns the command behind them.
func (a *analysis) unwrap(s *scope, name string, w wrapper, args []field) (rest []field, all []found) {
	skip := w.skip
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case args[i].trust != exact && skip == 0:
			return args[i:], all
		case text == "--" && skip == 0:
			return args[i+1:], all
		case text == "--" || text == "-":
		case strings.HasPrefix(text, "--"):
			used, wrong := a.long(s, name, w, args[i:])
			all = append(all, wrong...)
			i += used
		case len(text) > 1 && text[0] == '-':
			used, wrong := a.cluster(s, name, w, args[i:])
			all = append(all, wrong...)
			i += used
		case w.sets && strings.Contains(text, "=") && !strings.HasPrefix(text, "="):
			key, value, _ := strings.Cut(text, "=")
			all = append(all, a.variable(s, key, field{text: value, trust: args[i].trust}, true)...)
		case skip > 0:
			skip--
		default:
			return args[i:], all
		}
	}
	return nil, all
}

// long reads a long option of a wrapper and returns how many further words belong to it.
func (a *analysis) long(s *scope, name string, w wrapper, args []field) (used int, all []found) {
	option, value, given := strings.Cut(args[0].text[2:], "=")
	known, takes := listed(w.long, option)
	switch {
	case option == "command" || option == "split-string" || option == "exec":
		if !given && len(args) > 1 {
			value, used = args[1].text, 1
		}
		a.nested(s.in(name), field{text: value, trust: args[used].trust, glob: args[used].glob})
		all = append(all, found{plain, name + " --" + option + " runs a command"})
	case takes && !given:
		used = 1
	case !known:
		all = append(all, found{opaque, "the option --" + option + " of " + name + " is not known as harmless"})
	}
	return used, all
}

// cluster reads the short options in one word and returns how many further words belong to them.
func (a *analysis) cluster(s *scope, name string, w wrapper, args []field) (used int, all []found) {
	letters := args[0].text[1:]
	for k, c := range letters {
		value := field{text: letters[k+1:], trust: args[0].trust, glob: args[0].glob}
		switch {
		case strings.ContainsRune(w.code, c):
			if value.text == "" && len(args) > 1 {
				value, used = args[1], 1
			}
			a.nested(s.in(name), value)
			if name == "env" && len(args) > used+1 {
				a.suffixes(s, append([]field{{text: name}}, args[used+1:]...))
				all = append(all, found{opaque, "env -S takes a command apart"})
			}
			return used, all
		case strings.ContainsRune(w.valued, c):
			if value.text == "" && !(name == "xargs" && (c == 'i' || c == 'l')) {
				used = 1
			}
			setting := cmp.Or(value.text, text1(args))
			if name == "ssh" && c == 'o' && strings.Contains(strings.ToLower(setting), "command") {
				a.tryText(s.in("ssh -o"), commandIn(setting))
				all = append(all, found{plain, "ssh -o sets a command that ssh runs"})
			}
			return used, all
		case !strings.ContainsRune(w.flags, c):
			return 0, append(all, found{opaque, "the option -" + string(c) + " of " + name + " is not known as harmless"})
		}
	}
	return 0, all
}

func text1(args []field) string {
	if len(args) > 1 {
		return args[1].text
	}
	return ""
}

// withInput is the command that xargs runs: what it reads stands behind the words, or in place of {}.
func withInput(s *scope, words []field) []field {
	read := []field{{trust: unknown, source: "…", solid: true}}
	if s.stdin != nil && s.stdin.trust != unknown {
		read = nil
		pieces := strings.Fields(s.stdin.text)
		if slices.ContainsFunc(words, func(f field) bool { return strings.Contains(f.text, "{}") }) {
			pieces = strings.Split(strings.TrimSpace(s.stdin.text), "\n")
		}
		for i, w := range pieces {
			if i == maxFields {
				break
			}
			read = append(read, field{text: w, trust: guessed, solid: true})
		}
	}
	return replaced(words, read)
}

// replaced puts values behind words, or in place of {} where that stands.
func replaced(words, values []field) (all []field) {
	placed := false
	for _, w := range words {
		before, after, has := strings.Cut(w.text, "{}")
		if !has {
			all = append(all, w)
			continue
		}
		placed = true
		for _, v := range values {
			all = append(all, field{text: before + v.text + after, trust: max(w.trust, v.trust), glob: v.glob, source: w.text, solid: true})
		}
	}
	if !placed {
		all = append(all, values...)
	}
	return all
}

// inputs judges the commands that parallel makes of a template and its inputs.
func (a *analysis) inputs(s *scope, template, inputs []field) {
	for i, f := range inputs {
		if i > 0 && i < 20 && !strings.HasPrefix(f.text, ":::") {
			a.tryText(s, strings.Join(texts(replaced(template, []field{f})), " "))
		}
	}
}

// joined judges words that are put together to one shell text.
func (a *analysis) joined(s *scope, words []field) {
	t := exact
	for _, w := range words {
		t = max(t, w.trust)
		if w.glob {
			t = unknown
		}
	}
	a.nested(s, field{text: strings.Join(texts(words), " "), trust: t})
}

// findExec judges the commands that find runs.
func (a *analysis) findExec(s *scope, args []field) (handled bool, all []found) {
	var starts []field
	below := "**"
	if slices.ContainsFunc(args, func(f field) bool { return choosing[f.text] }) {
		below = "**/…" // some of what is below
	}
	for _, f := range startsOf(args) {
		starts = append(starts, field{text: strings.TrimSuffix(f.text, "/") + "/" + below, trust: f.trust, glob: true, solid: true})
	}
	if len(starts) == 0 {
		starts = []field{{text: "./**", glob: true, solid: true}}
	}
	var own []field
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			own = append(own, args[i])
			continue
		}
		end := i + 1
		for end < len(args) && args[end].text != ";" && (args[end].text != "+" || args[end-1].text != "{}") {
			end++
		}
		if words := args[i+1 : min(end, len(args))]; len(words) > 0 {
			inner := s.in("find " + args[i].text)
			inner.functions, inner.stdin = nil, nil
			if strings.HasSuffix(args[i].text, "dir") {
				inner.folders = nil
			}
			a.simple(inner, substituted(words, starts))
		}
		if end >= len(args) {
			a.row(s, shown(args[i:]), found{opaque, "find " + args[i].text + " has no end"})
		}
		handled = true
		i = end
	}
	if handled {
		all = s.harmful("find", own)
	}
	return handled, all
}

// substituted puts the files that find has found in place of {}.
func substituted(words, found []field) []field {
	if !slices.ContainsFunc(words, func(f field) bool { return strings.Contains(f.text, "{}") }) {
		return words
	}
	return replaced(words, found)
}
