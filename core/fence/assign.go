package fence

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// calm are the variables that only change how programs write.
var calm = set("LANG LANGUAGE TZ COLUMNS LINES NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR TERM COLORTERM BLOCKSIZE TIMEFORMAT CI DEBIAN_FRONTEND GIT_PAGER_IN_USE")

// programs are variables whose value is a command that some program runs.
var programs = set("PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS " +
	"BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND PS4 BASH_ENV ENV SHELL CC CXX RUSTC_WRAPPER RSYNC_RSH CVS_RSH TAR_OPTIONS MAKEFLAGS FCEDIT SYSTEMD_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER npm_config_script_shell")

// loads are the beginnings of variables that make programs load code or settings from elsewhere.
var loads = []string{
	"LD_", "DYLD_", "BASH_", "GIT_", "PYTHON", "PERL", "RUBY", "NODE_", "LUA_", "JAVA_", "JDK_", "_JAVA", "GCONV_PATH", "GLIBC_", "MALLOC_", "LOCPATH",
	"PATH", "CDPATH", "IFS", "HOME", "XDG_", "SHELLOPTS", "BASHOPTS", "GLOBIGNORE", "EXECIGNORE", "TMPDIR", "DOCKER_", "KUBECONFIG", "HTTP", "SSL_", "RIPGREP_", "GREP_", "LESS", "GO", "CARGO_", "RUST", "NPM_", "npm_", "http_", "https_", "all_proxy", "OPENSSL_", "TERMINFO", "HOSTALIASES", "POSIXLY_CORRECT", "GATEWAYTUI_", "PS",
}

// assignment says what speaks against a variable that is set, with exported for the environment of programs.
func (a *analysis) assignment(s *scope, as *syntax.Assign, exported bool) []found {
	all := a.insideAssign(s, as)
	if as.Index != nil {
		all = append(all, a.arithmetic(s, as.Index)...)
	}
	if as.Name == nil {
		return append(all, found{opaque, "which variable it sets is known only when it runs: " + s.textOf(as)})
	}
	value := field{}
	if as.Value != nil {
		value = s.plain(as.Value)
	}
	return append(all, a.variable(s, as.Name.Value, value, exported)...)
}

func (a *analysis) insideAssign(s *scope, as *syntax.Assign) []found {
	switch {
	case as.Index != nil || as.Array != nil:
		return a.insideNode(s, as)
	case as.Value == nil:
		return nil
	}
	return a.insideParts(s, as.Value.Parts)
}

// variable says what speaks against a value for a variable.
func (a *analysis) variable(s *scope, name string, value field, exported bool) []found {
	if programs[name] && value.trust != unknown && value.text != "" {
		a.tryText(s.in(name+"="), commandIn(value.text))
		if strings.Contains(name, "PAGER") && value.exact() && (value.text == "cat" || value.text == "less") {
			return nil
		}
	}
	if wrong := steers(name); wrong != "" {
		return []found{{plain, wrong}}
	}
	if (calm[name] || strings.HasPrefix(name, "LC_")) && strings.Contains(value.text, "/") && name != "TZ" {
		return []found{{plain, "it sets " + name + ", which names a file that programs load"}}
	}
	if exported && !calm[name] && !strings.HasPrefix(name, "LC_") && !strings.ContainsFunc(name, unicode.IsLower) {
		return []found{{plain, "it sets " + name + " for a program"}}
	}
	return nil
}

// steers says what programs make of a variable; empty: nothing.
func steers(name string) string {
	switch {
	case calm[name] || strings.HasPrefix(name, "LC_"):
		return ""
	case programs[name]:
		return "it sets " + name + ", which names a program that others run"
	case slices.ContainsFunc(loads, func(begin string) bool { return strings.HasPrefix(name, begin) }):
		return "it sets " + name + ", which changes what programs load or run"
	}
	return ""
}

// declaration says what speaks against export, declare, local, readonly and typeset.
func (a *analysis) declaration(s *scope, c *syntax.DeclClause) (all []found) {
	exported := c.Variant.Value == "export"
	for _, as := range c.Args {
		if !as.Naked {
			all = append(all, a.assignment(s, as, exported)...)
			continue
		}
		all = append(all, a.inside(s, as)...)
		if as.Name != nil {
			if exported {
				all = append(all, a.variable(s, as.Name.Value, field{}, true)...)
			}
			continue
		}
		for _, f := range s.fields(as.Value) {
			switch {
			case !f.exact() || !strings.HasPrefix(f.text, "-"):
				all = append(all, found{opaque, "which variable it sets is known only when it runs: " + s.textOf(as)})
			case strings.Trim(f.text, "-aArglx") != "" || strings.Contains(f.text, "x") && !exported:
				all = append(all, found{plain, c.Variant.Value + " " + f.text + " changes how a variable is read"})
			}
		}
	}
	if len(c.Args) == 0 {
		all = append(all, found{plain, "it shows every variable, and some may hold secrets"})
	}
	return all
}
