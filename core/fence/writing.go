package fence

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// openOutputs are written without an effect on files.
var openOutputs = set("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/full")

// gitFiles make a folder a repository of git, or its settings. Git runs programs that the settings of a repository name, and
// commands of git that only show something are harmless for that reason alone.
var gitFiles = []string{"HEAD", "config", "config.worktree", "commondir"}

// writes says what speaks against writing a file. In the work folder nothing does, but for hidden files and those of git.
func (s *scope) writes(f field) []found {
	all := s.leads(f.text)
	if f.trust == unknown || all == nil {
		return []found{{opaque, "it writes a file whose name is known only when it runs: " + shown([]field{f})}}
	}
	for _, p := range all {
		if what := device(p); what != "" {
			return []found{{host, "it writes to " + p + ", which is " + what}}
		}
		if kind := s.secret(p); kind != "" {
			return []found{{host, "it writes to " + p + ", which " + kind}}
		}
	}
	for _, p := range all {
		if wrong := s.written(p, f.glob); wrong != "" {
			return []found{{plain, wrong}}
		}
	}
	if f.trust != exact {
		return []found{{opaque, "it writes a file whose name comes from a variable or a program: " + f.text}}
	}
	return nil
}

// written says what speaks against writing to a path.
func (s *scope) written(p string, glob bool) string {
	switch {
	case !glob && (openOutputs[p] || strings.HasPrefix(p, "/dev/fd/")):
		return ""
	case strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/"):
		return "it opens a connection to the network: " + p
	}
	rest, inHome := s.fence.inHome(p)
	inside := under(p, s.fence.Work)
	below := p
	if inside {
		below = p[len(s.fence.Work):]
	}
	name := path.Base(p)
	switch {
	case inHome && !inside && strings.HasPrefix(rest, "."):
		return "it writes to " + p + ", which programs read when they start"
	case strings.Contains(below, "/.") || glob && strings.HasPrefix(name, "["):
		return "it writes to the hidden file " + p
	case !inside:
		return "it writes to " + p + ", which is outside the work folder"
	case glob && strings.ContainsAny(path.Dir(p), "*?["):
		return "it writes to files in folders that are known only when it runs: " + p
	case slices.ContainsFunc(gitFiles, func(file string) bool { return namedSo(name, file, glob) }):
		return "it writes to " + p + ", and git takes a folder with such a file for a repository whose settings run programs"
	}
	return ""
}

// namedSo reports whether a name is, or a pattern may stand for, the name of a file. Some disks do not tell capitals.
func namedSo(name, file string, glob bool) bool {
	if !glob {
		return strings.EqualFold(name, file)
	}
	ok, err := path.Match(strings.ToLower(name), strings.ToLower(file))
	return ok || err != nil || strings.Contains(name, "[")
}

// copies says what speaks against cp and mv: the words in front of the last one are read or moved away, and the last one, or a
// file of the same name in it, is written.
func (s *scope) copies(words []field, move bool) (all []found) {
	if len(words) < 2 {
		return []found{{plain, "it has no target"}}
	}
	target := words[len(words)-1]
	if target.glob {
		return []found{{opaque, "it writes a file whose name is known only when it runs: " + target.text}}
	}
	all = s.writes(target)
	for _, f := range words[:len(words)-1] {
		if move {
			all = append(all, s.writes(f)...)
		} else {
			all = append(all, s.reads(f)...)
		}
		all = append(all, s.writes(field{text: strings.TrimSuffix(target.text, "/") + "/" + path.Base(f.text), trust: max(f.trust, target.trust), glob: f.glob})...)
	}
	return all
}

// plainMode matches the modes of chmod that give no more than the right to run a file, or the usual rights of files.
var plainMode = regexp.MustCompile(`^(?:[ua]*[+-][rx]+|u[+-]w|0?[67][0-5][0-5])$`)

// chmodWords accepts a plain mode for files in the work folder.
func chmodWords(s *scope, args []field) string {
	if len(args) < 2 || !args[0].exact() || !plainMode.MatchString(args[0].text) {
		return "chmod with this mode, or with an option, is not on the list of harmless commands"
	}
	return s.wrongOutput(args[1:])
}

// wrongOutput is what speaks against writing files, as a text.
func (s *scope) wrongOutput(files []field) string {
	for _, f := range files {
		if mayBeOption(f) && f.trust != exact || strings.HasPrefix(f.text, "-") {
			return "a word may be an option: " + shown([]field{f})
		}
		for _, wrong := range s.writes(f) {
			return wrong.text
		}
	}
	return ""
}

// wrongEdit is wrongOutput for the files of sed, if it edits them.
func (s *scope) wrongEdit(files []field, edits bool) string {
	if !edits {
		return ""
	}
	return s.wrongOutput(files)
}

// inPlace reports whether an option of sed makes it write the files, and perhaps keep a copy of each.
func inPlace(option string) bool {
	suffix := strings.TrimPrefix(option, "--in-place")
	suffix, given := strings.CutPrefix(suffix, "=")
	if !given && option != "--in-place" {
		letters, behind, has := strings.Cut(option, "i")
		if !has || letters == "" || letters[0] != '-' || strings.Trim(letters[1:], "nrEsuz") != "" {
			return false
		}
		suffix = behind
	}
	return strings.Trim(suffix, ".~abcdefghijklmnopqrstuvwxyz") == "" && (suffix == "" || suffix[0] == '.' || suffix == "~")
}
