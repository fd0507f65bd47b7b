package fence

import (
	"regexp"
	"slices"
	"strings"
)

// kind says what the words of a harmless program are that are not options.
type kind int

const (
	other    kind = iota // the program is not harmless
	nothing              // there may be none
	anything             // texts, which may come from anywhere: nothing that they are does harm
	names                // names of files, into which the program does not look
	reading              // files that it reads
	writing              // files that it makes or writes
	copying              // files that it reads, and the last one that it writes
	moving               // files that it moves away, and the last one that it writes
)

// program is a harmless program: which options it may have, and what its other words are. An option that is not listed
// makes the command a question, and so does an abbreviation of a long one.
type program struct {
	short  string // options without a value
	valued string // options with a value
	long   string // long options; with = at the end those that take a value
	args   kind
	skip   int                                 // words in front of the files: the pattern of grep
	sharp  bool                                // an option that is not listed runs or writes something
	most   int                                 // words that are not options; 0: any number
	check  func(s *scope, args []field) string // what is wrong beyond that; empty: nothing
}

// harmful says what speaks against a command as a harmless one; nothing: it is on the list.
func (s *scope) harmful(name string, args []field) []found {
	if len(args) == 1 && harmlessVersion(args[0].text) && versioned[name] {
		return nil
	}
	p, known := harmless[name]
	if !known || p.args == other {
		return []found{{plain, name + " is not on the list of harmless commands"}}
	}
	if p.check != nil {
		if wrong := p.check(s, args); wrong != "" {
			return []found{{plain, wrong}}
		}
	}
	if p.args == anything && p.short == "" && p.long == "" {
		return nil
	}
	words, deep, all := s.split(name, p, args)
	if len(all) > 0 {
		return all
	}
	return s.operandsOf(name, p, words, deep)
}

// split takes the options off; deep: the program reads whole folders.
func (s *scope) split(name string, p program, args []field) (words []field, deep bool, all []found) {
	over := false
	words = make([]field, 0, len(args))
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch {
		case over || !strings.HasPrefix(f.text, "-") || f.text == "-":
			if !over && p.args != anything && mayBeOption(f) && (f.trust != exact && p.args != names || p.sharp) {
				all = append(all, found{opaque, "a word that is known only when it runs may be an option of " + name + ": " + shown([]field{f})})
			}
			words = append(words, f)
		case f.trust != exact || f.glob && !strings.Contains(f.text[:strings.IndexAny(f.text+"*", "*?[")], "="):
			all = append(all, found{opaque, "an option of " + name + " is known only when it runs: " + shown([]field{f})})
		case f.text == "--":
			over = true
		default:
			recursive, more, wrong := p.option(f.text)
			if wrong != "" {
				all = append(all, found{plain, "the option " + wrong + " of " + name + " is not on the list of harmless ones"})
			}
			deep = deep || recursive
			i += more
		}
	}
	return words, deep, all
}

// option reads one word of options: whether the program then reads folders, how many further words belong to it, and
// the option that is not listed.
func (p program) option(word string) (deep bool, more int, wrong string) {
	if strings.HasPrefix(word, "--") {
		option, _, given := strings.Cut(word[2:], "=")
		known, takes := listed(p.long, option)
		if takes && !given {
			more = 1
		}
		if !known && option != "help" && option != "version" {
			wrong = "--" + option
		}
		return option == "recursive" || option == "dereference-recursive", more, wrong
	}
	letters := word[1:]
	for k := range len(letters) {
		c := letters[k : k+1]
		if strings.Contains(p.valued, c) {
			if k == len(letters)-1 {
				more = 1
			}
			break
		}
		if !strings.Contains(p.short, c) {
			wrong = "-" + c
			break
		}
	}
	return strings.ContainsAny(word, "rR"), more, wrong
}

// listed looks for a long option in a list of words; takes: with = at the end, which says that it has a value.
func listed(list, option string) (known, takes bool) {
	for w := range strings.FieldsSeq(list) {
		if begin, value := strings.CutSuffix(w, "="); begin == option {
			known, takes = true, takes || value
		}
	}
	return known, takes
}

// mayBeOption reports whether a word may turn out to begin with a dash.
func mayBeOption(f field) bool {
	return f.trust != exact || f.glob && strings.ContainsAny(f.text[:1], "*?[")
}

// operandsOf says what speaks against the words that are not options.
func (s *scope) operandsOf(name string, p program, words []field, deep bool) (all []found) {
	if p.args == nothing && len(words) > 0 || p.most > 0 && (len(words) > p.most || slices.ContainsFunc(words, func(f field) bool { return f.glob })) {
		return []found{{plain, name + " " + shown(words[len(words)-1:]) + " does more than show something"}}
	}
	switch p.args {
	case writing:
		for _, f := range words {
			all = append(all, s.writes(f)...)
		}
		return all
	case copying, moving:
		return s.copies(words, p.args == moving)
	case reading:
	default:
		return nil
	}
	skip := min(p.skip, len(words))
	if name == "rg" {
		deep = true
	}
	files := words[skip:]
	if deep && len(files) == 0 && (name == "rg" || strings.HasSuffix(name, "grep")) {
		files = []field{{text: ".", solid: true}}
	}
	for _, f := range files {
		all = append(all, s.readsBelow(f, deep)...)
	}
	return all
}

// versioned are programs of which only the version is harmless to ask for.
var versioned = set("python python2 python3 node npm npx pnpm yarn deno bun go cargo rustc rustup gcc g++ clang cc make cmake ninja java javac mvn gradle ruby gem perl php composer lua docker podman kubectl helm git bash sh zsh curl wget ssh tar rsync openssl psql mysql sqlite3 pip pip3 uv poetry terraform ansible vim nvim emacs tmux jq awk sed gh bwrap systemctl node nodejs dotnet swift zig ghc")

func harmlessVersion(word string) bool {
	return word == "--version" || word == "-V" || word == "--help"
}

// listGrep is what grep and its like have in common.
var listGrep = program{
	short: "abcEFGHhIiLlnoPqRrsTUvwxyZz", valued: "ABCm", args: reading, skip: 1,
	long:  "after-context= before-context= context= max-count= color= colour= color colour count extended-regexp fixed-strings basic-regexp perl-regexp with-filename no-filename ignore-case files-with-matches files-without-match line-number only-matching quiet silent recursive dereference-recursive no-messages invert-match word-regexp line-regexp null text include= exclude= exclude-dir= binary-files= byte-offset line-buffered null-data label=",
	check: grepPattern,
}

// grepPattern refuses -e and -f: with them the first word is a file.
func grepPattern(_ *scope, args []field) string {
	for _, f := range args {
		if f.text == "--" {
			break
		}
		if strings.HasPrefix(f.text, "--reg") || strings.HasPrefix(f.text, "--file=") || f.text == "--file" {
			return "the option " + f.text + " is not on the list of harmless ones"
		}
	}
	return ""
}

const digits = "0123456789"

// hashes read files and show a number.
var hashes = program{short: "btz", long: "binary text zero tag", args: reading}

// harmless lists the programs that only show something, with the options of GNU coreutils and the like.
var harmless = map[string]program{
	"true": {args: anything}, "false": {args: anything}, ":": {args: anything}, "echo": {args: anything}, "exit": {args: anything}, "return": {args: anything}, "break": {args: anything}, "continue": {args: anything}, "shift": {args: anything},
	"[": {args: anything, check: variableTest}, "test": {args: anything, check: variableTest}, "printf": {args: anything, check: printfTarget}, "basename": {args: anything}, "dirname": {args: anything}, "seq": {args: anything}, "expr": {args: anything},
	"sleep": {args: anything}, "wait": {args: anything, check: waitTarget}, "jobs": {short: "lnprs", args: nothing}, "umask": {args: anything}, "cd": {args: anything}, "pushd": {args: anything}, "popd": {args: anything}, "dirs": {args: nothing}, "read": {args: anything, check: readTargets}, "set": {args: anything, check: setFlags}, "trap": {args: anything},
	"type": {short: "aftpP", args: names}, "which": {short: "as", args: names}, "whereis": {short: "bms", args: names}, "hash": {args: nothing}, "nproc": {long: "all", args: nothing}, "arch": {args: nothing},

	"ls":  {short: "1aAbBcCdfFgGhHiIklLmnNopqQrRsStTuUvwxXZ", valued: "", long: "all almost-all color color= human-readable time-style= sort= format= full-time group-directories-first reverse recursive size inode directory dereference classify indicator-style= time= si zero quoting-style= hide= ignore= numeric-uid-gid no-group", args: names},
	"dir": {short: "1aAlhrRtS", args: names}, "tree": {sharp: true, short: "aAdfhilnpsQrtDFgNSCu", valued: "LPI", long: "dirsfirst prune noreport filelimit= gitignore charset= du", args: names},
	"stat": {short: "LftxF", valued: "c", long: "format= printf= dereference file-system terse", args: names}, "du": {short: "abcDhHklLmPsSx0", valued: "dBt", long: "all apparent-size bytes total human-readable max-depth= summarize si one-file-system exclude= threshold= time", args: names},
	"df": {short: "aBhHiklPTx", valued: "t", long: "all human-readable inodes local print-type output= output total si", args: names}, "file": {short: "bhikLnNprsvz0", long: "brief mime mime-type mime-encoding dereference", args: reading},
	"pwd": {short: "LP", args: nothing}, "realpath": {short: "eLmPqsz", long: "relative-to= relative-base= canonicalize-existing canonicalize-missing no-symlinks", args: names}, "readlink": {short: "efmnqsvz", long: "canonicalize", args: names},

	"cat": {short: "AbeEnstTuv", long: "number show-all number-nonblank show-ends show-tabs squeeze-blank show-nonprinting", args: reading}, "tac": {short: "br", valued: "s", args: reading}, "nl": {valued: "bdfhilnsvw", short: "p", args: reading},
	"head": {short: "qvz" + digits, valued: "nc", long: "lines= bytes= quiet verbose", args: reading}, "tail": {short: "qvzfFr" + digits, valued: "ncs", long: "lines= bytes= quiet verbose follow follow= retry pid=", args: reading},
	"wc": {short: "clLmw", long: "bytes chars lines words max-line-length total=", args: reading}, "cut": {short: "nsz", valued: "bcdf", long: "bytes= characters= delimiter= fields= complement output-delimiter= only-delimited", args: reading}, "tr": {short: "cCdst", args: anything, long: "complement delete squeeze-repeats"},
	"sort": {sharp: true, short: "bcCdfghiMmnRrsuVz", valued: "kt", long: "key= field-separator= numeric-sort reverse unique human-numeric-sort version-sort general-numeric-sort ignore-case stable check zero-terminated", args: reading}, "uniq": {short: "cdDiuz", valued: "fsw", long: "count repeated unique ignore-case skip-fields= skip-chars= check-chars=", args: reading, most: 1},
	"comm": {short: "123z", long: "output-delimiter= nocheck-order total", args: reading}, "join": {short: "iz", valued: "aejotv12", args: reading}, "paste": {short: "sz", valued: "d", args: reading}, "column": {short: "tx", valued: "csNo", args: reading}, "fold": {short: "bs", valued: "w", args: reading}, "fmt": {short: "cstu", valued: "w", args: reading}, "expand": {short: "i", valued: "t", args: reading}, "rev": {args: reading},
	"diff": {short: "abBcdeEfiNnpqrstTuwy" + digits, valued: "CUWIx", long: "brief unified= unified color color= recursive side-by-side ignore-all-space ignore-space-change ignore-blank-lines ignore-case report-identical-files new-file exclude= width= suppress-common-lines stat text", args: reading}, "cmp": {short: "bls", valued: "in", args: reading},
	"od": {short: "abcdfhilosvx", valued: "AjNStw", args: reading}, "hexdump": {short: "bcCdovx", valued: "ns", args: reading}, "xxd": {short: "abeipuEC", valued: "cglos", args: reading, most: 1}, "strings": {short: "afo", valued: "nte", args: reading},
	"md5sum": hashes, "sha1sum": hashes, "sha224sum": hashes, "sha256sum": hashes, "sha384sum": hashes, "sha512sum": hashes, "b2sum": hashes, "cksum": hashes, "sum": {short: "rs", args: reading},
	"base64": {short: "diD", valued: "w", long: "decode ignore-garbage wrap=", args: reading}, "base32": {short: "di", valued: "w", long: "decode wrap=", args: reading},
	"grep": listGrep, "egrep": listGrep, "fgrep": listGrep, "zgrep": {}, "jq": {short: "acCeMnrRsSj", long: "raw-output compact-output null-input slurp sort-keys exit-status tab raw-input color-output monochrome-output", args: reading, skip: 1, check: jqFilter},
	"rg":   {sharp: true, short: "abcFhHiIlLnNopPqsSUuvwx0.", valued: "ABCgMmtTEjr", long: "after-context= before-context= context= glob= type= type-not= max-count= color= no-heading heading line-number no-line-number files-with-matches files-without-match count count-matches fixed-strings ignore-case smart-case word-regexp only-matching invert-match hidden no-ignore multiline pcre2 sort= stats json vimgrep iglob= max-depth= column trim", args: reading, skip: 1},
	"find": {args: anything, check: findWords}, "sed": {args: anything, check: sedWords}, "awk": {args: anything, check: awkWords}, "gawk": {args: anything, check: awkWords}, "mawk": {args: anything, check: awkWords},
	"mkdir": {short: "pv", valued: "m", long: "parents verbose mode=", args: writing}, "touch": {short: "acm", valued: "dt", long: "no-create date=", args: writing}, "tee": {short: "ai", long: "append ignore-interrupts", args: writing},
	"cp": {short: "finpuv", long: "force interactive no-clobber update verbose preserve", args: copying}, "mv": {short: "finuv", long: "force interactive no-clobber update verbose", args: moving}, "chmod": {args: anything, check: chmodWords},
	"gofmt": {short: "ldes", args: reading},

	"git": {args: anything, check: gitWords}, "tar": {args: anything, check: tarWords},

	"uname": {short: "asnrvmpio", long: "all kernel-name nodename kernel-release machine operating-system", args: nothing}, "date": {short: "uIR", valued: "dr", long: "utc universal date= iso-8601 iso-8601= rfc-3339= rfc-email reference=", args: anything, check: dateWords}, "cal": {short: "13jmsy", args: anything},
	"whoami": {args: nothing}, "id": {short: "agGnruzZ", args: names}, "groups": {args: names}, "logname": {args: nothing}, "who": {short: "abdHlmpqrstTu", args: nothing}, "w": {short: "hsfoi", args: nothing}, "users": {args: nothing}, "tty": {short: "s", args: nothing}, "hostname": {short: "aAdfiIsy", long: "fqdn short ip-address", args: nothing}, "uptime": {short: "ps", long: "pretty since", args: nothing}, "free": {short: "bghkmtlw", valued: "cs", long: "human mega giga total", args: nothing},
	"ps": {short: "aAcdefFgGHjlLMNnOopPqrsStTuUvVwxyZ", valued: "", long: "sort= forest no-headers pid= ppid= user=", args: anything, check: psWords}, "pgrep": {short: "acflnovwx", valued: "uUgGPsdt", args: anything}, "pidof": {short: "cqsx", args: names}, "lscpu": {short: "abcex", valued: "", args: nothing}, "lsblk": {short: "abdfilmnpPrstS", valued: "oxe", long: "all fs json output=", args: names}, "lsusb": {short: "tv", args: nothing}, "lspci": {short: "kmntv", args: nothing}, "vmstat": {short: "adfnsw", args: anything}, "findmnt": {short: "abAcDfJlnR", valued: "too", args: names}, "mount": {args: nothing}, "locale": {short: "akcm", args: names}, "getconf": {short: "a", args: names}, "printenv": {args: anything, check: printenvNames}, "kill": {args: anything, check: killList}, "ss": {short: "0456aehilmnoprstuwx", args: nothing}, "netstat": {short: "aeglnoprstuWx46", args: nothing}, "ip": {args: anything, check: ipWords}, "docker": {args: anything, check: dockerWords}, "podman": {args: anything, check: dockerWords}, "systemctl": {args: anything, check: systemctlWords}, "go": {args: anything, check: goWords}, "npm": {}, "pip": {}, "clear": {args: nothing}, "numfmt": {long: "to= from= suffix= padding=", args: anything}, "factor": {args: anything}, "shuf": {short: "erz", valued: "in", args: reading}, "getent": {args: anything, check: getentWords}, "unset": {args: anything, check: plainNames}, "cloc": {}, "stty": {short: "a", args: nothing}, "ulimit": {short: "aHScdfnstuv", args: nothing},
}

var onlyName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
