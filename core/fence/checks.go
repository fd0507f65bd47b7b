package fence

import (
	"cmp"
	"regexp"
	"strings"
)

// variableTest refuses test -v: bash evaluates the index of what it is given. A word that is not known may be the -v.
func variableTest(_ *scope, args []field) string {
	for i, f := range args {
		if i+1 == len(args) || onlyName.MatchString(args[i+1].text) && args[i+1].exact() {
			continue
		}
		if f.text == "-v" || f.text == "-R" || f.trust != exact && !compares[args[i+1].text] {
			return "test -v may run commands in the index of a variable"
		}
	}
	return ""
}

// compares are the words behind which test has a second value, and those at its end.
var compares = set("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o ]")

// printfTarget refuses printf -v NAME[…].
func printfTarget(_ *scope, args []field) string {
	switch {
	case len(args) == 0 || args[0].trust == exact && !strings.HasPrefix(args[0].text, "-v"):
		return ""
	case len(args) > 1 && args[0].exact() && args[0].text == "-v" && args[1].exact() && onlyName.MatchString(args[1].text) && steers(args[1].text) == "":
		return ""
	}
	return "printf -v may set a variable that is known only when it runs"
}

// plainNames accepts names of variables and nothing else.
func plainNames(_ *scope, args []field) string {
	for _, f := range args {
		if !f.exact() || !onlyName.MatchString(f.text) && f.text != "-v" || steers(f.text) != "" {
			return "it changes a variable or a function that programs depend on: " + shown([]field{f})
		}
	}
	return ""
}

func readTargets(_ *scope, args []field) string {
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case !f.exact():
			return "read sets a variable that is known only when it runs"
		case f.text == "-p" || f.text == "-d" || f.text == "-n" || f.text == "-N" || f.text == "-t" || f.text == "-u":
			i++
		case strings.HasPrefix(f.text, "-"):
			if strings.Trim(f.text, "-rsa") != "" && !strings.HasPrefix(f.text, "-d") {
				return "the option " + f.text + " of read is not on the list of harmless ones"
			}
		case !onlyName.MatchString(f.text) || steers(f.text) != "":
			return "read sets " + f.text + ", on which programs depend"
		}
	}
	return ""
}

// waitTarget refuses wait -p NAME[…].
func waitTarget(_ *scope, args []field) string {
	for _, f := range args {
		if strings.HasPrefix(f.text, "-") && f.text != "-n" && f.text != "-f" {
			return "the option " + f.text + " of wait is not on the list of harmless ones"
		}
	}
	return ""
}

// harmlessSet reports whether set only makes the shell stricter or more talkative.
func harmlessSet(args []field) bool {
	for i, f := range args {
		switch {
		case !f.exact():
			return false
		case i > 0 && (f.text == "pipefail" || f.text == "errexit" || f.text == "nounset" || f.text == "xtrace") && strings.HasSuffix(args[i-1].text, "o"):
		case len(f.text) < 2 || f.text[0] != '-' && f.text[0] != '+' || strings.Trim(f.text[1:], "euxfvo") != "":
			return false
		}
	}
	return len(args) > 0
}

func setFlags(_ *scope, args []field) string {
	if !harmlessSet(args) {
		return "set changes the shell, or shows every variable"
	}
	return ""
}

func jqFilter(_ *scope, args []field) string {
	for _, f := range args {
		if strings.Contains(f.text, "env") || strings.Contains(f.text, "import") || strings.Contains(f.text, "include") || strings.Contains(f.text, "ENV") {
			return "the filter of jq uses the environment or another file"
		}
	}
	return ""
}

// dateWords refuses what sets the clock.
func dateWords(_ *scope, args []field) string {
	for i, f := range args {
		switch {
		case strings.HasPrefix(f.text, "-s") || strings.HasPrefix(f.text, "--s") || strings.HasPrefix(f.text, "-f") || strings.HasPrefix(f.text, "--f"):
			return "date " + f.text + " sets the clock or reads a file"
		case !strings.HasPrefix(f.text, "-") && !strings.HasPrefix(f.text, "+") && (i == 0 || args[i-1].text != "-d" && args[i-1].text != "-r" && args[i-1].text != "--date" && args[i-1].text != "--reference"):
			return "date " + f.text + " sets the clock"
		}
	}
	return ""
}

// psWords refuses the letter e without a dash, which shows the variables of processes.
func psWords(_ *scope, args []field) string {
	for i, f := range args {
		behind := i > 0 && strings.HasPrefix(args[i-1].text, "-")
		if f.trust != exact || strings.Contains(f.text, "env") || !behind && !strings.HasPrefix(f.text, "-") && strings.Contains(f.text, "e") || behind && (f.text == "e" || f.text == "axe" || f.text == "auxe") {
			return "ps shows the variables of processes, and some may hold secrets"
		}
	}
	return ""
}

var openVariables = set("PATH HOME USER LOGNAME SHELL PWD OLDPWD TERM LANG LANGUAGE TZ TMPDIR EDITOR HOSTNAME LC_ALL LC_CTYPE SHLVL XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR GOPATH GOROOT VIRTUAL_ENV CI")

func printenvNames(_ *scope, args []field) string {
	for _, f := range args {
		if !openVariables[f.text] {
			return "printenv shows " + shown([]field{f}) + ", which may be a secret"
		}
	}
	if len(args) == 0 {
		return "printenv shows every variable, and some may hold secrets"
	}
	return ""
}

func killList(_ *scope, args []field) string {
	if len(args) > 0 && args[0].text == "-l" || len(args) == 2 && args[0].text == "-0" {
		return ""
	}
	return "kill ends processes"
}

// first accepts commands whose first words are on a list, and whose others are short options.
func first(what string, allowed map[string]bool, flags string) func(*scope, []field) string {
	return func(_ *scope, args []field) string {
		begun := false
		for i, f := range args {
			switch {
			case f.trust != exact:
				return what + " has a word that is known only when it runs"
			case strings.HasPrefix(f.text, "-"):
				if option, _, _ := strings.Cut(f.text, "="); !strings.Contains(" "+flags+" ", " "+option+" ") {
					return "the option " + f.text + " of " + what + " is not on the list of harmless ones"
				}
			case !begun:
				if !allowed[f.text] {
					return what + " " + f.text + " is not on the list of harmless commands"
				}
				begun = true
			case what == "ip" && !allowed[f.text] && (i == 0 || f.text == "set" || f.text == "add" || f.text == "del" || f.text == "flush" || f.text == "exec" || f.text == "change" || f.text == "replace" || f.text == "delete" || f.text == "append"):
				return "ip " + f.text + " changes the network"
			}
		}
		if !begun {
			return what + " alone is not on the list of harmless commands"
		}
		return ""
	}
}

var (
	ipWords        = onlyShown(first("ip", set("a addr address r route link neigh l n"), "-4 -6 -br -brief -j -json -c -color -o -s -d"))
	dockerWords    = first("docker", set("ps images version info"), "-a --all -q --quiet --no-trunc --format -n --latest -s")
	systemctlWords = first("systemctl", set("status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets list-dependencies get-default"), "--no-pager -l --full --user --all -a --type --state -n --lines -q --failed --plain --no-legend")
	ipShows        = set("show list ls get s")
	getentWords    = first("getent", set("passwd group services protocols"), "")
)

// onlyShown refuses every word behind ip OBJECT but show and list and the name of a device.
func onlyShown(check func(*scope, []field) string) func(*scope, []field) string {
	return func(s *scope, args []field) string {
		words := operands(args)
		if len(words) > 1 && !ipShows[words[1].text] {
			return "ip " + words[0].text + " " + words[1].text + " is not on the list of harmless commands"
		}
		return check(s, args)
	}
}

// goWords accepts what runs nothing of the module.
func goWords(_ *scope, args []field) string {
	if len(args) == 0 {
		return "go alone is not on the list of harmless commands"
	}
	for _, f := range args[1:] {
		if f.trust != exact || strings.HasPrefix(f.text, "-w") || strings.HasPrefix(f.text, "-u") || strings.HasPrefix(f.text, "--") || strings.HasPrefix(f.text, "-http") {
			return "the option " + f.text + " of go is not on the list of harmless ones"
		}
	}
	if !args[0].exact() || !set("version env help doc")[args[0].text] || args[0].text == "version" && len(args) > 1 {
		return "go " + args[0].text + " runs programs or changes files"
	}
	return ""
}

// findTests are the words of find that only look, with the number of values that each has.
var findTests = map[string]int{
	"-name": 1, "-iname": 1, "-path": 1, "-ipath": 1, "-wholename": 1, "-regex": 1, "-iregex": 1, "-regextype": 1, "-type": 1, "-xtype": 1, "-size": 1, "-mtime": 1, "-mmin": 1, "-atime": 1, "-amin": 1, "-ctime": 1, "-cmin": 1,
	"-newer": 1, "-anewer": 1, "-cnewer": 1, "-newermt": 1, "-user": 1, "-group": 1, "-uid": 1, "-gid": 1, "-perm": 1, "-links": 1, "-inum": 1, "-samefile": 1, "-lname": 1, "-maxdepth": 1, "-mindepth": 1, "-printf": 1, "-fstype": 1, "-used": 1,
	"-print": 0, "-print0": 0, "-ls": 0, "-prune": 0, "-quit": 0, "-empty": 0, "-not": 0, "!": 0, "-o": 0, "-or": 0, "-a": 0, "-and": 0, "(": 0, ")": 0, ",": 0, "-true": 0, "-false": 0, "-readable": 0, "-writable": 0, "-executable": 0, "-nouser": 0, "-nogroup": 0,
	"-depth": 0, "-d": 0, "-xdev": 0, "-mount": 0, "-follow": 0, "-daystart": 0, "-noleaf": 0, "-warn": 0, "-nowarn": 0, "-H": 0, "-L": 0, "-P": 0, "-E": 0,
}

func findWords(s *scope, args []field) string {
	for i := 0; i < len(args); i++ {
		f := args[i]
		values, listed := findTests[f.text]
		switch {
		case f.trust == exact && listed:
			i += values
		case f.trust != exact:
			return "a word of find is known only when it runs: " + shown([]field{f})
		case f.text == "-delete":
			return "find -delete deletes files"
		case strings.HasPrefix(f.text, "-fprint") || f.text == "-fls":
			if i+1 < len(args) {
				for _, wrong := range s.writes(args[i+1]) {
					return "find " + f.text + ": " + wrong.text
				}
			}
			return "find " + f.text + " writes a file"
		case strings.HasPrefix(f.text, "-"):
			return "the word " + f.text + " of find is not on the list of harmless ones"
		case mayBeOption(f):
			return "a word of find is known only when it runs: " + f.text
		}
	}
	return ""
}

// sedScript matches the scripts of sed that only print, delete, count and replace.
var sedScript = regexp.MustCompile(`^\s*(?:(?:` + sedAddress + `(?:,~?\+?` + sedAddress + `)?)?\s*!?\s*(?:[pdqQ=]|s/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/[gpI0-9]*|s\|(?:[^|\\\n]|\\[^\n])*\|(?:[^|\\\n]|\\[^\n])*\|[gpI0-9]*|s#(?:[^#\\\n]|\\[^\n])*#(?:[^#\\\n]|\\[^\n])*#[gpI0-9]*)\s*;?\s*)*$`)

const sedAddress = `(?:[0-9]+|\$|/(?:[^/\\\n]|\\[^\n])*/)`

func sedWords(s *scope, args []field) string {
	var files []field
	script, edits := false, false
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case f.text == "-e" || f.text == "--expression":
			if i++; i == len(args) || !args[i].exact() || !sedScript.MatchString(args[i].text) {
				return "the script of sed does more than print, delete and replace"
			}
			script = true
		case f.exact() && inPlace(f.text):
			edits = true
		case !f.exact() && strings.HasPrefix(f.text, "-"), len(f.text) > 1 && f.text[0] == '-' && strings.Trim(f.text[1:], "nrEsuz") != "":
			return "the option " + f.text + " of sed changes files or is not on the list of harmless ones"
		case strings.HasPrefix(f.text, "-") && len(f.text) > 1:
		case !script && !slicesHasE(args):
			if f.trust != exact || !sedScript.MatchString(f.text) {
				return "the script of sed does more than print, delete and replace"
			}
			script = true
		default:
			files = append(files, f)
		}
	}
	return cmp.Or(s.wrongEdit(files, edits), s.firstWrong(files))
}

func slicesHasE(args []field) bool { return has(args, "e", "expression") }

// firstWrong is what speaks against reading files, as a text.
func (s *scope) firstWrong(files []field) string {
	for _, f := range files {
		if mayBeOption(f) && f.trust != exact {
			return "a word is known only when it runs: " + shown([]field{f})
		}
		for _, wrong := range s.reads(f) {
			return wrong.text
		}
	}
	return ""
}

func awkWords(s *scope, args []field) string {
	var files []field
	program := false
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case !program && (f.text == "-F" || f.text == "-v"):
			i++
		case !program && (strings.HasPrefix(f.text, "-F") || strings.HasPrefix(f.text, "-v")):
		case !program && strings.HasPrefix(f.text, "-"):
			return "the option " + f.text + " of awk is not on the list of harmless ones"
		case !program:
			program = true
			text := strings.ReplaceAll(f.text, "||", "")
			for _, odd := range []string{"system", "getline", "|", ">", "@", "ARGV", "ARGC", "ENVIRON", "close", "fflush", "extension"} {
				if strings.Contains(text, odd) {
					return "the program of awk has " + odd + ", and may run or write something"
				}
			}
			if f.trust != exact {
				return "the program of awk is known only when it runs"
			}
		case strings.Contains(f.text, "=") && f.exact():
		default:
			files = append(files, f)
		}
	}
	if !program {
		return "awk has no program"
	}
	return s.firstWrong(files)
}

// tarWords accepts lists of archives.
func tarWords(s *scope, args []field) string {
	if len(args) < 2 || !args[0].exact() || strings.Trim(args[0].text, "-tfvzjJ") != "" || !strings.HasSuffix(args[0].text, "f") || !strings.Contains(args[0].text, "t") {
		return "tar writes files, or reads the ones that it packs"
	}
	for _, f := range args[1:] {
		if strings.HasPrefix(f.text, "-") || strings.Contains(f.text, ":") || f.trust != exact {
			return "the word " + f.text + " of tar is not on the list of harmless ones"
		}
	}
	return s.firstWrong(args[1:2])
}
