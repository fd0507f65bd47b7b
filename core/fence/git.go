package fence

import (
	"slices"
	"strings"
)

// gitSafe lists the commands of git that only show something, with the options that make them do more or run a program.
// A * at the end stands for every option that begins so.
var gitSafe = map[string]string{
	"status": "", "log": gitShows, "diff": gitShows, "show": gitShows, "shortlog": gitShows, "whatchanged": gitShows, "blame": "--contents*", "annotate": "--contents*",
	"add": "-p* -i* -e* --patch --interactive --edit --pathspec-from-file* --chmod*", "rev-parse": "", "rev-list": gitShows, "ls-files": "", "ls-tree": "", "describe": "", "name-rev": "", "merge-base": "", "cat-file": "--textconv --filters --batch*",
	"show-ref": "--exclude-existing*", "for-each-ref": "", "count-objects": "", "diff-tree": gitShows, "diff-index": gitShows, "diff-files": gitShows, "check-ignore": "", "var": "", "version": "", "grep": "-O* --open-files-in-pager* -f* --no-index", "cherry": gitShows, "range-diff": gitShows, "verify-pack": "",
	"branch": gitBranch, "tag": gitBranch, "remote": "", "stash": gitShows, "worktree": "", "config": "-f* --file* --blob* -e --edit --add --unset* --replace-all --rename-section* --remove-section*", "reflog": gitShows, "symbolic-ref": "-d* --delete -m*", "submodule": "", "bisect": "",
}

const (
	gitShows  = "--ext-diff --textconv --output* -O* --show-signature --no-index --stdin"
	gitBranch = "-d* -D* -m* -M* -c* -C* -f* -u* -a* -s* -F* -e* --delete --move --copy --force --set-upstream* --unset-upstream --edit-description --track* --sign --local-user* --annotate --message* --file* --edit --create-reflog"
)

// gitFirst are, for commands that also change something, the first words with which they do not. A dash stands for none.
var gitFirst = map[string]string{
	"remote": "- -v --verbose get-url", "stash": "list show", "worktree": "list", "reflog": "- show", "submodule": "- status summary", "bisect": "log",
	"config": "--get --get-all --get-regexp --list -l get list --show-origin",
}

// gitListing are the options with which branch and tag list, and the words behind them are patterns.
var gitListing = set("-l --list --contains --no-contains --merged --no-merged --points-at --show-current")

// gitLists are these and others that change how the list looks.
var gitLists = set("-l --list -a --all -r --remotes -v -vv --verbose --contains --no-contains --merged --no-merged --points-at --show-current -n --sort --format --color --column")

// gitWords says what speaks against a git command as a harmless one. The settings of the repository count as harmless
// only in the work folder.
func gitWords(s *scope, args []field) string {
	i := 0
	folders := s.folders
	for ; i < len(args) && strings.HasPrefix(args[i].text, "-"); i++ {
		switch args[i].text {
		case "--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects":
		case "--version", "--help":
			return ""
		case "-C":
			i++
			if i == len(args) || !args[i].exact() {
				return "the folder of git is known only when it runs"
			}
			folders = s.leads(args[i].text)
		default:
			return "the option " + args[i].text + " of git is not on the list of harmless ones"
		}
	}
	if i == len(args) || !args[i].exact() {
		return "the command of git is known only when it runs"
	}
	command, rest := args[i].text, args[i+1:]
	refused, safe := gitSafe[command]
	switch {
	case !safe:
		return "git " + command + " is not on the list of harmless commands"
	case command == "version":
		return ""
	case folders == nil || slices.ContainsFunc(folders, func(dir string) bool { return !under(dir, s.fence.Work) }):
		return "git works on a repository outside the work folder, whose settings may run programs"
	}
	return gitRest(s, command, refused, rest)
}

// gitRest says what speaks against the words behind the command of git.
func gitRest(s *scope, command, refused string, rest []field) string {
	if wrong := gitBegins(command, rest); wrong != "" {
		return wrong
	}
	lists := command != "branch" && command != "tag" && command != "symbolic-ref" && command != "config"
	over := false
	for i, f := range rest {
		option, _, _ := strings.Cut(f.text, "=")
		switch {
		case !over && gitMayBeOption(f) || f.trust != exact && strings.HasPrefix(f.text, "-"):
			return "a word that is known only when it runs may be an option of git " + command + ": " + shown([]field{f})
		case over:
		case f.text == "--":
			over = true
		case strings.HasPrefix(f.text, "-"):
			if gitRefuses(refused, option, command) {
				return "the option " + f.text + " of git " + command + " is not on the list of harmless ones"
			}
			lists = lists || gitListing[option] || command == "config"
		case command == "config" && i > 1 || !lists:
			return "git " + command + " " + f.text + " changes the repository"
		}
		if wrong := gitOutside(s, command, f.text); wrong != "" {
			return wrong
		}
	}
	return ""
}

// gitBegins says what speaks against the first word behind a command that also changes something.
func gitBegins(command string, rest []field) string {
	begin := "-"
	if len(rest) > 0 {
		begin = rest[0].text
	}
	if allowed, has := gitFirst[command]; has && !slices.Contains(strings.Fields(allowed), begin) {
		return "git " + command + " " + strings.TrimSuffix(begin, "-") + " is not on the list of harmless commands"
	}
	return ""
}

// gitMayBeOption reports whether a word may turn out to be an option.
func gitMayBeOption(f field) bool {
	return f.trust != exact && (!f.solid || f.trust == unknown && f.text == "")
}

// gitOutside says whether a word of git leads out of the work folder.
func gitOutside(s *scope, command, text string) string {
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "..") {
		return ""
	}
	for _, p := range s.leads(text) {
		if !under(p, s.fence.Work) {
			return "git " + command + " looks at " + p + ", which is outside the work folder"
		}
	}
	return ""
}

// gitRefuses reports whether an option is on the list, or begins as one with a * or as the abbreviation of one.
func gitRefuses(refused, option, command string) bool {
	for r := range strings.FieldsSeq(refused) {
		begin, open := strings.CutSuffix(r, "*")
		switch {
		case (command == "branch" || command == "tag") && gitLists[option]:
		case option == begin, open && strings.HasPrefix(option, begin) && (begin[1] != '-' || len(option) >= len(begin)):
			return true
		case strings.HasPrefix(option, "--") && len(option) > 3 && strings.HasPrefix(begin, option):
			return true
		}
	}
	return false
}
