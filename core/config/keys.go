package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/term"
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
}

// section is one table of the config file.
type section struct {
	name, doc string
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
		name := prefix + f.Tag.Get("toml")
		at := append(slices.Clone(index), i)
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Duration]() {
			sections = append(sections, section{name, f.Tag.Get("doc")})
			k, s := table(f.Type, name+".", at)
			keys, sections = append(keys, k...), append(sections, s...)
			continue
		}
		env := envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		keys = append(keys, key{name, env, f.Tag.Get("doc"), at})
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
	for _, end := range []string{"key_env", "key_file", "token_env", "token_file"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// keyName joins the parts of a key as TOML writes them, cleaned and cut: the parts of a hostile file are anything.
func keyName(parts []string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		if bare(p) {
			b.WriteString(p)
		} else {
			b.WriteString(strconv.Quote(term.Clean(p, 60)))
		}
	}
	return term.Clean(b.String(), 80)
}

func bare(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return s != ""
}

// nearestKey is the known key that name most likely means: the one with the fewest mistakes in it, or one whose last
// part is the same when it was put in the wrong table.
func nearestKey(name string) string {
	return nearest(func(yield func(string, int)) {
		for _, k := range keys {
			yield(k.name, min(distance(name, k.name), distance(lastPart(name), lastPart(k.name))+3))
		}
	})
}

// nearestSection is the known table that name most likely means.
func nearestSection(name string) string {
	return nearest(func(yield func(string, int)) {
		for _, s := range sections {
			if s.doc != "" {
				yield(s.name, distance(name, s.name))
			}
		}
	})
}

// nearestVariable is the known variable that name most likely means.
func nearestVariable(name string) string {
	return nearest(func(yield func(string, int)) {
		for _, v := range reserved {
			yield(v, distance(name, v))
		}
		for _, k := range keys {
			yield(k.env, distance(name, k.env))
		}
	})
}

func nearest(candidates func(yield func(string, int))) string {
	best, least := "", 1<<30
	candidates(func(candidate string, d int) {
		if d < least {
			best, least = candidate, d
		}
	})
	return best
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// distance is the number of inserted, deleted, replaced and swapped bytes between a and b, case folded (optimal string
// alignment). Names are at most 80 runes by then.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
