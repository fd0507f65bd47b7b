package fence

import (
	"slices"
	"strings"
)

// runner says by which options a program runs another one.
type runner struct {
	short string // options whose value, in the same word or the next, is a command
	long  string // the same, with their dashes
	text  string // beginnings of words that hold a command
}

// runners lists programs that run what an option names. The values are judged for what is never run.
var runners = map[string]runner{
	"tar":   {short: "IF", long: "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command --info-script --new-volume-script"},
	"rsync": {short: "e", long: "--rsh --rsync-path"},
	"man":   {short: "PH", long: "--pager --html"},
	"sort":  {long: "--compress-program"}, "split": {long: "--filter"}, "rg": {long: "--pre --hostname-bin"},
	"vim": {short: "cS", long: "--cmd", text: "+"}, "vi": {short: "cS", text: "+"}, "nvim": {short: "cSl", long: "--cmd", text: "+"}, "view": {short: "cS", text: "+"}, "ex": {short: "cS", text: "+"},
	"less": {text: "+"}, "more": {text: "+"}, "emacs": {short: "lf", long: "--eval --execute --load --funcall"},
	"scp": {short: "SoD"}, "sftp": {short: "SoD"}, "zip": {short: "T", long: "-TT --unzip-command"}, "wget": {long: "--use-askpass"}, "curl": {short: "K", long: "--config"},
	"go": {long: "-exec -toolexec -vettool"}, "cargo": {long: "--config"}, "make": {short: "f", long: "--eval", text: "SHELL= .SHELLFLAGS= MAKEFLAGS="},
	"nc": {short: "ec", long: "--exec --sh-exec"}, "ncat": {short: "ec", long: "--exec --sh-exec --lua-exec"}, "netcat": {short: "ec"},
	"socat": {text: "EXEC: SYSTEM: exec: system:"}, "tcpdump": {short: "z"}, "logrotate": {short: "s"},
	"mysql": {short: "e", long: "--execute --pager"}, "psql": {short: "cf", long: "--command --file"}, "sqlite3": {short: "", long: "-cmd", text: ".shell .system"},
	"ansible": {short: "a", long: "--args"}, "docker": {}, "kubectl": {}, "crontab": {}, "at": {},
}

// interpreters run programs of their own language.
var interpreters = set("python python2 python3 perl ruby node nodejs deno bun php lua luajit tclsh expect osascript Rscript ghci pypy pypy3 gawk awk mawk nawk sed ed bc dc guile julia groovy scala jshell pwsh powershell")

// options says which words of a command make its program run another one.
func (a *analysis) options(s *scope, name string, args []field) (all []found) {
	switch {
	case name == "git":
		return a.gitOptions(s, args)
	case name == "awk" || name == "gawk" || name == "mawk" || name == "nawk" || name == "sed":
		all = s.harmful(name, args)
		if len(all) > 0 {
			a.scripts(s, name, args)
		}
		return all
	case interpreters[name] || strings.HasPrefix(name, "python"):
		if len(args) == 1 && harmlessVersion(args[0].text) {
			return nil
		}
		a.scripts(s, name, args)
		a.fedScript(s, name)
		return []found{{plain, name + " runs a program in its own language, which is not analysed"}}
	}
	r, known := runners[name]
	if !known {
		return nil
	}
	for i, f := range args {
		if option, value, runs := r.value(f.text, text1(args[i:])); runs {
			a.tryText(s.in(name+" "+option), commandIn(value))
			all = append(all, found{plain, name + " " + option + " runs a program: " + value})
		}
	}
	return all
}

// value is the option in a word and its value, if it is one that runs a command.
func (r runner) value(word, next string) (option, value string, runs bool) {
	option, value, given := strings.Cut(word, "=")
	if !given {
		value = next
	}
	for l := range strings.FieldsSeq(r.long) {
		if option == l || given && len(option) > 4 && strings.HasPrefix(l, option) && strings.HasPrefix(option, "--") {
			return option, value, true
		}
	}
	for begin := range strings.FieldsSeq(r.text) {
		if rest, is := strings.CutPrefix(word, begin); is {
			return begin, rest, true
		}
	}
	if len(word) > 1 && word[0] == '-' && word[1] != '-' {
		if i := strings.IndexAny(word[1:], r.short); i >= 0 && r.short != "" {
			if value = word[i+2:]; value == "" {
				value = next
			}
			return word[:i+2], value, true
		}
	}
	return "", "", false
}

// commandIn is the command in the value of an option: exec=CMD of tar, !CMD of editors, ProxyCommand=CMD of ssh.
func commandIn(value string) string {
	for _, begin := range []string{"exec=", "ProxyCommand=", "ProxyCommand ", "LocalCommand=", "KnownHostsCommand=", "|", ":!", "!", ":r!", ":silent !", "silent !", `\!`} {
		if rest, is := strings.CutPrefix(value, begin); is {
			return strings.TrimLeft(rest, "! ")
		}
	}
	return value
}

// scripts judges the quoted texts in the program of an interpreter, and the lines of sed's e.
func (a *analysis) scripts(s *scope, name string, args []field) {
	inner := s.in(name)
	for _, f := range args {
		if f.trust == unknown || strings.HasPrefix(f.text, "-") && len(f.text) < 3 {
			continue
		}
		a.script1(inner, f.text)
		if name == "sed" {
			if _, code, has := strings.Cut(f.text, "e "); has {
				a.tryText(inner, code)
			}
		}
	}
}

// fedScript judges the quoted texts in what an interpreter reads.
func (a *analysis) fedScript(s *scope, name string) {
	if s.stdin != nil && s.stdin.trust != unknown {
		a.script1(s.in(name), s.stdin.text)
	}
}

// script1 judges each quoted text in a program as a command, and as the name of a file. Only what is never run counts.
func (a *analysis) script1(s *scope, program string) {
	for n := 0; n < 40; n++ {
		i := strings.IndexAny(program, "\"'`")
		if i < 0 {
			return
		}
		text, rest, whole := strings.Cut(program[i+1:], program[i:i+1])
		if !whole {
			return
		}
		if len(text) > 2 {
			if strings.HasPrefix(text, "/") && !strings.Contains(text, " ") {
				if kind := s.fence.secret(text); kind != "" {
					a.row(s, text, found{host, "it names " + text + ", which " + kind})
				}
			}
			a.tryText(s, text)
		}
		// The closing quote may open the next text.
		program = rest
	}
}

// gitPrograms are the ends of keys of git whose values are commands, or the names of files that hold some.
var gitPrograms = []string{"pager", "editor", "sshcommand", "command", "cmd", "driver", "textconv", "program", "helper", "askpass", "fsmonitor", "hookspath", "path", "clean", "smudge", "process", "external", "gitproxy", "uploadpack", "receivepack", "browser", "tool", "attributesfile", "excludesfile", "worktree"}

// gitCommands are options of git's commands that run a program, by the command.
var gitCommands = map[string]map[string]bool{
	"rebase": set("--exec -x"), "difftool": set("--extcmd -x"), "grep": set("--open-files-in-pager"), "clone": set("--upload-pack -u"), "fetch": set("--upload-pack"), "pull": set("--upload-pack"), "ls-remote": set("--upload-pack --exec"), "push": set("--receive-pack --exec"),
	"filter-branch": set("--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter"), "archive": set("--exec"), "am": set("--exec"),
}

// gitOptions says which words make git run another program.
func (a *analysis) gitOptions(s *scope, args []field) (all []found) {
	for i := 0; i < len(args); i++ {
		option, value, given := strings.Cut(args[i].text, "=")
		if !strings.HasPrefix(option, "-") {
			return append(all, a.gitCommand(s, option, args[i+1:])...)
		}
		switch option {
		case "-c", "--config-env":
			if !given {
				value = text1(args[i:])
				i++
			}
			all = append(all, a.gitSetting(s, value))
		case "-C":
			i++
		case "--exec-path", "--git-dir", "--work-tree":
			all = append(all, found{plain, "git " + option + " takes programs or settings from elsewhere"})
			if !given {
				i++
			}
		}
	}
	return all
}

// gitSetting says what git -c KEY=VALUE does.
func (a *analysis) gitSetting(s *scope, setting string) found {
	key, value, _ := strings.Cut(setting, "=")
	a.tryText(s.in("git -c"), commandIn(value))
	if strings.HasPrefix(value, "!") || gitProgram(key) {
		return found{plain, "git -c " + key + " runs a program: " + value}
	}
	return found{plain, "git -c " + key + " changes what git does"}
}

// gitCommand says which words behind a command of git make it run a program.
func (a *analysis) gitCommand(s *scope, command string, args []field) (all []found) {
	if len(args) > 1 && (command == "bisect" && args[0].text == "run" || command == "submodule" && args[0].text == "foreach") {
		a.joined(s.in("git "+command+" "+args[0].text), args[1:])
		all = append(all, found{plain, "git " + command + " " + args[0].text + " runs a command"})
	}
	for i, f := range args {
		next := text1(args[i:])
		option, value, given := strings.Cut(f.text, "=")
		if !given {
			value = next
		}
		switch {
		case gitCommands[command][option]:
			a.tryText(s.in("git "+option), value)
			all = append(all, found{plain, "git " + command + " " + option + " runs a program: " + value})
		case command == "grep" && strings.HasPrefix(f.text, "-O"):
			all = append(all, found{plain, "git grep -O runs a program: " + f.text[2:]})
		case strings.HasPrefix(f.text, "ext::"):
			a.tryText(s.in("git ext::"), f.text[len("ext::"):])
			all = append(all, found{plain, "an address that begins with ext:: runs a program"})
		case command == "config" && gitProgram(f.text):
			a.tryText(s.in("git config"), commandIn(next))
			if next != "" && !strings.HasPrefix(next, "-") {
				all = append(all, found{plain, "git config " + f.text + " sets a program that git runs: " + next})
			}
		}
	}
	return all
}

// gitProgram reports whether the value of a key of git's config is a command.
func gitProgram(key string) bool {
	key = strings.ToLower(key)
	return strings.HasPrefix(key, "alias.") || strings.Contains(key, ".") && slices.ContainsFunc(gitPrograms, func(end string) bool { return strings.HasSuffix(key, end) })
}
