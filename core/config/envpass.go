package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// steering are variables that make a program load or run what their value says, or that open an agent's socket. They pass
// to tools only if tools.env_pass names them exactly (HF8). One that ends in * is a prefix.
var steering = []string{
	"LD_*", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH",
	"ENV", "BASH_ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS",
	"NODE_OPTIONS", "NODE_PATH", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB",
	"RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "RUSTC_WRAPPER", "GOFLAGS", "MAKEFLAGS",
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_EXEC_PATH",
	"GIT_TEMPLATE_DIR", "GIT_CONFIG*", "SSH_ASKPASS", "SUDO_ASKPASS", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER",
	"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS",
}

// ofShells are variables that every shell sets: no warning says that they do not pass.
var ofShells = []string{"_", "PWD", "OLDPWD", "SHLVL"}

// covers reports whether a pattern, a name or a prefix and *, is for name.
func covers(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return open && strings.HasPrefix(name, prefix) || pattern == name
}

func covered(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, name) })
}

// Passes reports whether tools see the variable name of the gateway's environment. What looks like a secret by its name or
// its value, and what steers other programs, passes only if EnvPass names it exactly. The gateway's own configuration never
// passes.
func (t Tools) Passes(name, value string) bool {
	switch {
	case strings.HasPrefix(name, envPrefix):
		return false
	case slices.Contains(t.EnvPass, name):
		return true
	case !covered(t.EnvPass, name):
		return false
	}
	return !covered(steering, name) && !term.SecretName(name) && term.Redact(value) == value
}

// Steers reports whether a pattern of tools.env_pass names a variable that makes programs load or run what its value says, or
// that opens an agent's socket, such as LD_PRELOAD, BASH_ENV or SSH_AUTH_SOCK.
func Steers(pattern string) bool { return covered(steering, pattern) }

// Environment tells the variables of environ, as os.Environ returns it, that tools see from those that they do not. Both
// lists are sorted; neither has the gateway's own configuration, nor what shells set.
func (t Tools) Environment(environ []string) (passed, kept []string) {
	env := environment(environ)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.HasPrefix(name, envPrefix):
		case t.Passes(name, env[name]):
			passed = append(passed, name)
		case !slices.Contains(ofShells, name):
			kept = append(kept, name)
		}
	}
	return passed, kept
}

// wrongEnvPass says what is wrong with tools.env_pass; empty: nothing is.
func wrongEnvPass(c *Config) string {
	for _, pattern := range c.Tools.EnvPass {
		name, open := strings.CutSuffix(pattern, "*")
		steers := slices.IndexFunc(steering, func(s string) bool { return strings.HasSuffix(s, "*") && covers(s, name) })
		switch {
		case !VariableName(name) && pattern != "*":
			return fmt.Sprintf(`must hold names of variables, such as "LANG", or beginnings of names, such as "LC_*", not %s`, quote(pattern))
		case strings.HasPrefix(name, envPrefix):
			return fmt.Sprintf("must not hold %s: the gateway's own configuration never passes to tools", quote(pattern))
		case open && steers >= 0:
			return fmt.Sprintf("must name each variable of %s exactly, not %s: they make programs load or run something", steering[steers], quote(pattern))
		case slices.Contains(c.SecretVariables(), pattern):
			return fmt.Sprintf("must not hold %s, in which the config has a secret of the gateway", quote(pattern))
		}
	}
	return ""
}

// maxNamed bounds how many variables a warning names.
const maxNamed = 20

// toolsEnvironment is the change of what tools see of this environment; none where they see all of it.
func (l *Loaded) toolsEnvironment() []Change {
	_, kept := l.Config.Tools.Environment(l.options.Environ)
	// Secrets of the config did not pass before either.
	kept = slices.DeleteFunc(kept, func(name string) bool { return slices.Contains(l.Config.SecretVariables(), name) })
	if _, set := l.origins["tools.env_pass"]; set || len(kept) == 0 {
		return nil
	}
	return []Change{{
		Name: "tools_environment", Key: "tools.env_pass", Schema: 5,
		What: "tools no longer see these variables of the gateway's environment: " + term.Clean(text.Some(kept, maxNamed), 1000) +
			"; name those that they need in tools.env_pass, or ignore this",
	}}
}
