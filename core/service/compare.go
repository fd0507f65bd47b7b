package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A definition carries a digest of its own text. It distinguishes a definition that was edited from one that belongs to
// an older config.
const (
	stampMark = "gatewaytui: as written, digest "
	noDigest  = "0000000000000000"
	stampLine = stampMark + noDigest
)

// stamped writes the digest of text into its line.
func stamped(text string) string { return strings.Replace(text, stampLine, stampMark+digest(text), 1) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:len(noDigest)]
}

// Edited reports whether a definition differs from what SystemdUnit or LaunchdPlist wrote, for any config and in any
// version: it was edited or written by hand.
func Edited(text string) bool {
	at := strings.Index(text, stampMark)
	if at < 0 || len(text) < at+len(stampLine) {
		return true
	}
	at += len(stampMark)
	said := text[at : at+len(noDigest)]
	return said != digest(text[:at]+noDigest+text[at+len(noDigest):])
}

// Difference is one setting that differs from the config.
type Difference struct {
	// Setting is its name, e.g. "Service.TimeoutStopSec" or "Service.Environment.GATEWAYTUI_HOME".
	Setting string `json:"setting"`
	// Installed and Computed are the values; empty where the setting is missing.
	Installed string `json:"installed"`
	Computed  string `json:"computed"`
	// Kills means that it lets the manager kill the gateway in the middle of a stop: too little time, or TERM for the
	// tools.
	Kills bool `json:"kills"`
}

// Compare finds the differences between an installed definition and the computed one: first in the computed one's order,
// then the settings that only the installed one has. Comments and layout do not count.
func Compare(installed, computed string) []Difference {
	have, want := settingsOf(installed), settingsOf(computed)
	var out []Difference
	for _, w := range want {
		if got := have.get(w.name); got != w.value {
			out = append(out, Difference{Setting: w.name, Installed: got, Computed: w.value, Kills: kills(w.name, got, w.value)})
		}
	}
	for _, h := range have {
		if want.find(h.name) < 0 {
			out = append(out, Difference{Setting: h.name, Installed: h.value})
		}
	}
	return out
}

// kills: less time than the plan needs, or no setting where the default is less.
func kills(name, installed, computed string) bool {
	switch name {
	case "Service.TimeoutStopSec":
		got, err := parseSpan(installed)
		want, _ := parseSpan(computed) // we wrote it
		if installed == "" {
			got, err = Manager{Kind: Systemd}.DefaultLimit(), nil
		}
		return err != nil || got > 0 && got < want
	case "ExitTimeOut":
		got, err := time.ParseDuration(installed + "s")
		want, _ := time.ParseDuration(computed + "s") // we wrote it
		return err != nil || got > 0 && got < want
	case "Service.KillMode":
		return installed != "process" // control-group, the default, signals the tools at the same moment
	}
	return false
}

// HomeOf is the home that a definition is for; empty if it names none.
func HomeOf(text string) string {
	s := settingsOf(text)
	if home := s.get("Service.Environment." + homeVariable); home != "" {
		return home
	}
	return s.get("EnvironmentVariables." + homeVariable)
}

type setting struct{ name, value string }

// settings are the settings of a definition in their order.
type settings []setting

func (s settings) find(name string) int {
	return slices.IndexFunc(s, func(x setting) bool { return x.name == name })
}

func (s settings) get(name string) string {
	if i := s.find(name); i >= 0 {
		return s[i].value
	}
	return ""
}

// set sets name.
func (s settings) set(name, value string) settings {
	if i := s.find(name); i >= 0 {
		s[i].value = value
		return s
	}
	return append(s, setting{name, value})
}

// add sets name, or adds a further value to it as lists in unit files do.
func (s settings) add(name, value string) settings {
	if s.find(name) >= 0 {
		value = s.get(name) + "\n" + value
	}
	return s.set(name, value)
}

// settingsOf reads a definition of either kind. It skips what it cannot read, which is then reported as a difference.
func settingsOf(text string) settings {
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		return plistSettings(text)
	}
	return unitSettings(text)
}

// unitSettings reads a unit file (systemd.syntax(7)): a setting is called Section.Name, and a variable of Environment
// Section.Environment.VARIABLE. An empty value resets what came before, the last value of TimeoutStopSec and the like counts.
func unitSettings(text string) settings {
	var out settings
	section, carried := "", ""
	for raw := range strings.Lines(text) {
		l := strings.TrimSpace(raw)
		if l == "" && carried == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, ";") {
			continue
		}
		l, carried = carried+l, ""
		if rest, more := strings.CutSuffix(l, `\`); more {
			carried = rest + " "
			continue
		}
		if strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]") {
			section = l[1 : len(l)-1]
			continue
		}
		name, value, ok := strings.Cut(l, "=")
		if !ok {
			continue
		}
		name, value = section+"."+strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case name == "Service.Environment" && value == "":
			out = slices.DeleteFunc(out, func(s setting) bool { return strings.HasPrefix(s.name, name+".") })
		case name == "Service.Environment":
			for _, word := range unquote(value) {
				variable, content, _ := strings.Cut(word, "=")
				out = out.set(name+"."+variable, content)
			}
		case value == "":
			out = slices.DeleteFunc(out, func(s setting) bool { return s.name == name })
		case lists[name]:
			out = out.add(name, value)
		default:
			out = out.set(name, value)
		}
	}
	return out
}

// lists are the settings that add up when they come more than once.
var lists = map[string]bool{
	"Unit.Wants": true, "Unit.After": true, "Unit.Before": true, "Unit.Requires": true, "Install.WantedBy": true,
	"Service.ExecStart": true, "Service.ExecStartPre": true, "Service.ExecStop": true, "Service.ExecReload": true, "Service.EnvironmentFile": true,
	"Service.RestartForceExitStatus": true, "Service.RestartPreventExitStatus": true, "Service.SuccessExitStatus": true,
}

// unquote splits a value into its words and undoes what quote did to each.
func unquote(s string) []string {
	var words []string
	var word strings.Builder
	in, quoted, escaped := false, rune(0), false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, in = true, true
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quoted, in = r, true
		case unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "%%", "%")
	}
	return words
}

// plistSettings reads a property list whose root is a dictionary: a setting is called by its keys, joined with dots, and an
// array is its values, one a line.
func plistSettings(text string) settings {
	var out settings
	var path []string // of the dictionaries around, and the key that waits for its value at the end
	var content strings.Builder
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			return out // its end, or the rest cannot be read
		}
		switch t := token.(type) {
		case xml.StartElement:
			content.Reset()
			if t.Name.Local == "dict" {
				path = append(path, "")
			}
		case xml.CharData:
			content.Write(t)
		case xml.EndElement:
			if len(path) == 0 {
				continue
			}
			here := len(path) - 1
			switch t.Name.Local {
			case "key":
				path[here] = content.String()
				continue
			case "dict":
				path = path[:here]
				continue
			}
			if path[here] == "" {
				continue // a value without a name
			}
			switch t.Name.Local {
			case "string", "integer", "real", "date", "data":
				out = out.add(strings.Join(path, "."), content.String())
			case "true", "false":
				out = out.add(strings.Join(path, "."), t.Name.Local)
			}
		}
	}
}
