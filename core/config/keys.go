package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// envPrefix begins every environment variable that is ours.
const envPrefix = "GATEWAYTUI_"

// reserved are the variables that are no config keys: where things are, and what children are marked with
// (CONTRACT.md, 2 and 5; DESIGN.md, 3).
var reserved = []string{
	envPrefix + "HOME", fileVariable, envPrefix + "STOP_BUDGET", envPrefix + "LIFE", envPrefix + "SESSION", envPrefix + "HOME_ID",
}

// key is one key of the config file.
type key struct {
	name  string // shutdown.adapter_timeout
	env   string // GATEWAYTUI_SHUTDOWN_ADAPTER_TIMEOUT
	doc   string
	index []int // of its field in Config
	// standard is its default, if set.
	standard string
	set      bool
}

// section is one table of the config file, or a family of tables.
type section struct {
	name, doc string
	family    *family
}

// keys and sections are every key and every table, in the order of the fields.
var keys, sections = table(reflect.TypeFor[Config](), "", nil)

var keyByName = func() map[string]key {
	m := map[string]key{}
	for _, k := range keys {
		m[k.name] = k
	}
	return m
}()

func table(t reflect.Type, prefix string, index []int) (keys []key, sections []section) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := strings.TrimSuffix(prefix+f.Tag.Get("toml"), ".") // a family without a name of its own has that of the table around it
		at := append(slices.Clone(index), i)
		switch {
		case f.Tag.Get("toml") == "-":
			continue
		case f.Anonymous: // its keys are those of the table around it
			k, _ := table(f.Type, prefix, at)
			keys = append(keys, k...)
			continue
		case isFamily(f.Type):
			sections = append(sections, section{name, f.Tag.Get("doc"), newFamily(name, f.Type, at)})
			continue
		}
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Duration]() && f.Type != reflect.TypeFor[Network]() {
			sections = append(sections, section{name, f.Tag.Get("doc"), nil})
			k, s := table(f.Type, name+".", at)
			keys, sections = append(keys, k...), append(sections, s...)
			continue
		}
		env := envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		standard, set := f.Tag.Lookup("default")
		keys = append(keys, key{name, env, f.Tag.Get("doc"), at, standard, set})
	}
	return keys, sections
}

// field is k's field in c.
func (k key) field(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(k.index) }

// section is the table that k stands in.
func (k key) section() string { return k.name[:strings.LastIndexByte(k.name, '.')] }

func isSection(name string) bool {
	return slices.ContainsFunc(sections, func(s section) bool { return s.name == name })
}

// namesSecret reports whether the key's value says where a secret is.
func namesSecret(name string) bool {
	return slices.ContainsFunc([]string{"key_env", "key_file", "token_env", "token_file", "secret_env", "secret_file", "headers_env"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// keyName joins the parts of a key as TOML writes them, cleaned and cut: the parts of a hostile file are anything.
func keyName(parts []string) string {
	var name strings.Builder
	for i, p := range parts {
		index := i > 0 && indexOf(p) >= 0
		if i > 0 && !index {
			name.WriteByte('.')
		}
		if !index && (p == "" || strings.Trim(p, bare) != "") {
			p = strconv.Quote(term.Clean(p, 60))
		}
		name.WriteString(p)
	}
	return term.Clean(name.String(), 140)
}

// bare are the characters of a key without quotes.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// nearestKey is the known key that name most likely means: the one with the fewest mistakes in it, or one whose last
// part is the same when it was put in the wrong table.
func nearestKey(name string) string {
	name = strings.ToLower(name)
	mistakes := func(k key) int {
		return min(text.Distance(name, k.name), text.Distance(lastPart(name), lastPart(k.name))+3)
	}
	return slices.MinFunc(keys, func(a, b key) int { return mistakes(a) - mistakes(b) }).name
}

// nearestSection is the known table that path most likely means. A name that an operator chose stays.
func nearestSection(path []string) string {
	var known []string
	for _, s := range sections {
		if s.doc != "" {
			known = append(known, s.name)
		}
		if s.family != nil && !s.family.list && len(path) > 1 {
			known = append(known, keyName([]string{s.name, path[1]}))
		}
	}
	return text.Nearest(strings.ToLower(keyName(path)), known)
}

// nearestVariable is the known variable that name most likely means.
func nearestVariable(name string) string {
	known := slices.Clone(reserved)
	for _, k := range keys {
		known = append(known, k.env)
	}
	return text.Nearest(strings.ToUpper(name), known)
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
