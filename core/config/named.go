package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"gatewaytui/core/text"
)

// family is tables with the same keys: a table of tables whose names an operator chooses, such as [models.NAME], or a list
// of tables, such as [[routes]]. Only the file sets them: the environment has no names for their keys.
type family struct {
	name  string
	list  bool
	index []int // of its field in Config, a map or a slice of pointers
	// keys are those of one table: their names and indexes begin there.
	keys []key
}

// isFamily reports whether a field of type t is a family.
func isFamily(t reflect.Type) bool {
	kind := t.Kind()
	return (kind == reflect.Map || kind == reflect.Slice) && t.Elem().Kind() == reflect.Pointer
}

func newFamily(name string, t reflect.Type, index []int) *family {
	own, _ := table(t.Elem().Elem(), "", nil)
	return &family{name: name, list: t.Kind() == reflect.Slice, index: index, keys: own}
}

// familyOf is the family of this name, nil for none.
func familyOf(name string) *family {
	for _, s := range sections {
		if s.name == name && s.family != nil {
			return s.family
		}
	}
	return nil
}

// familyAt is the family whose tables a path names or is in, nil for none.
func familyAt(path []string) *family {
	for _, s := range sections {
		f := s.family
		if f != nil && len(path) >= f.depth() && slices.Equal(f.parts(), path[:f.depth()]) && !f.besides(path) {
			return f
		}
	}
	return nil
}

// besides reports whether a path that begins as that of the family is in a table with a name of the config's own: adapters.telegram is
// none of [adapters.NAME].
func (f *family) besides(path []string) bool {
	return len(path) > f.depth() && isSection(keyName(path[:f.depth()+1]))
}

// parts are those of the path of the family: its table may be in another one, such as [adapters.webhook.routes.NAME].
func (f *family) parts() []string { return strings.Split(f.name, ".") }

// depth is how many there are.
func (f *family) depth() int { return strings.Count(f.name, ".") + 1 }

// path is the path of a table of the family, or of a key in it.
func (f *family) path(parts ...string) string { return keyName(append(f.parts(), parts...)) }

// DefaultName is the name of the model that [model] is, and of the agent that [agent] is.
const DefaultName = "default"

// maxChosen bounds a name that an operator chose, in bytes.
const maxChosen = 64

// wrongName says what is wrong with a name of the family that an operator chose; empty: nothing is.
func (f *family) wrongName(name string) string {
	switch {
	case name == "" || len(name) > maxChosen || strings.Trim(name, bare+".") != "":
		return fmt.Sprintf("must have a name of 1 to %d letters, digits, dots, _ and -, not %s", maxChosen, quote(name))
	case f.name == "models" && name == "auto":
		return `cannot be: "/model auto" means the models of the agent`
	case f.name == "agents" && name == "any":
		return `cannot be: in a request of the API "any" means the agent default`
	case f.name == externals && !isExternal(name):
		return fmt.Sprintf("must have a name of 1 to 32 small letters, digits and -, which begins with a letter and is none of %s, not %s", english.WordSeries(ownNames, "and"), quote(name))
	}
	return ""
}

// made is a pointer to a table of the family that sets no key.
func (f *family) made() reflect.Value {
	v := reflect.New(reflect.TypeFor[Config]().FieldByIndex(f.index).Type.Elem().Elem())
	setDefaults(v.Elem(), f.keys)
	return v
}

// member is the table of a family that a part of a path names, made with its defaults where it is not there yet. Indexes of
// a list come in their order.
func (f *family) member(c *Config, part string) reflect.Value {
	field := reflect.ValueOf(c).Elem().FieldByIndex(f.index)
	if f.list {
		at := indexOf(part)
		for field.Len() <= at {
			field.Set(reflect.Append(field, f.made()))
		}
		return field.Index(at).Elem()
	}
	if field.IsNil() {
		field.Set(reflect.MakeMap(field.Type()))
	}
	name := reflect.ValueOf(part)
	if v := field.MapIndex(name); v.IsValid() {
		return v.Elem()
	}
	v := f.made()
	field.SetMapIndex(name, v)
	return v.Elem()
}

// key is the key of the family with this name in its table.
func (f *family) key(name string) (key, bool) {
	at := slices.IndexFunc(f.keys, func(k key) bool { return k.name == name })
	if at < 0 {
		return key{}, false
	}
	return f.keys[at], true
}

// written is how the header of a table of the family is written.
func (f *family) written() string {
	if f.list {
		return "[[" + f.name + "]]"
	}
	return "[" + f.name + ".NAME]"
}

// setNamed takes over the value at a place of a family. whole is the value of the family.
func (l *Loaded) setNamed(f *family, p place, name string, value, whole any) *Error {
	_, table := value.(map[string]any)
	items, list := whole.([]any)
	own := p.path[f.depth():] // the name of a table, and what is in it
	switch {
	case f.list && (!list || slices.ContainsFunc(items, func(item any) bool { _, table := item.(map[string]any); return !table })):
		e := l.fault(fmt.Sprintf("%s must be a list of tables, written %s, not %s", f.name, f.written(), describe(f.name, whole)), name)
		e.Key = f.name
		return e
	case f.list && len(own) == 0:
		return nil
	case len(own) < 2 && !table:
		return l.fault(wants(name, "a table, written "+f.written(), value), name)
	case len(own) == 0:
		return nil
	}
	tables, _ := whole.(map[string]any)
	if f.name == externals {
		if e := l.unknownPlatform(name, own[0], tables[own[0]]); e != nil {
			return e
		}
	}
	if wrong := f.wrongName(own[0]); wrong != "" && !f.list {
		e := l.fault(fmt.Sprintf("a table of [%s] %s", f.name, wrong), name)
		e.Key = f.path(own[0])
		return e
	}
	member := f.member(&l.Config, own[0])
	if len(own) == 1 {
		return nil
	}
	if above, known := f.key(own[1]); known && above.isSettings(member) {
		return l.setSetting(above, member, name, value, lookup(tables, own[:2]))
	}
	return l.setMember(f, own, member, name, value)
}

// setSetting takes over settings of which value, at the key name, is a part, or all of them.
func (l *Loaded) setSetting(k key, member reflect.Value, name string, value, whole any) *Error {
	if want := assign(member.FieldByIndex(k.index), whole); want != "" {
		return l.fault(wants(name, want, whole), name)
	}
	if wrong := wrongSetting(value); wrong != "" && k.name != lastPart(name) {
		return l.fault(fmt.Sprintf("%s has %s; settings are texts, numbers, true, false, and lists and tables of these", name, wrong), name)
	}
	return nil
}

// setMember takes over the value at a place in a table of a family. own are the name of the table and the parts of the key.
func (l *Loaded) setMember(f *family, own []string, member reflect.Value, name string, value any) *Error {
	_, table := value.(map[string]any)
	k, known := f.key(strings.Join(own[1:], "."))
	above, plain := f.key(own[1])
	want := ""
	switch {
	case known:
		want = assign(member.FieldByIndex(k.index), value)
	case len(own) == 2 && f.hasTable(own[1]):
		if !table {
			want = "a table"
		}
	case plain && len(own) == 3 && above.inTable(member):
		want = assignIn(member.FieldByIndex(above.index), own[2], value)
	case plain:
		above := f.path(own[:2]...)
		e := l.fault(above+" is a value, not a table", name)
		e.Key = above
		return e
	default:
		e := l.fault("unknown key "+name, name)
		e.Nearest = f.path(append(own[:1:1], strings.Split(f.nearest(strings.Join(own[1:], ".")), ".")...)...)
		return e
	}
	if want != "" {
		return l.fault(wants(name, want, value), name)
	}
	return nil
}

// hasTable reports whether the tables of the family have one of this name in them.
func (f *family) hasTable(name string) bool {
	return slices.ContainsFunc(f.keys, func(k key) bool { return strings.HasPrefix(k.name, name+".") })
}

// nearest is the key of the family's tables that name most likely means.
func (f *family) nearest(name string) string {
	var known []string
	for _, k := range f.keys {
		known = append(known, k.name)
	}
	return text.Nearest(strings.ToLower(name), known)
}

// setting is one key with the field that has its value. Its name is the whole one.
type setting struct {
	key
	value reflect.Value
}

// settings are all keys of the config, in the order of the example, then those of the families.
func (l *Loaded) settings() (all []setting) {
	for _, k := range keys {
		all = append(all, setting{k, k.field(&l.Config)})
	}
	for _, s := range sections {
		if s.family == nil {
			continue
		}
		for _, part := range s.family.members(&l.Config) {
			v := s.family.member(&l.Config, part)
			for _, k := range s.family.keys {
				field := v.FieldByIndex(k.index)
				k.name = s.family.path(append([]string{part}, strings.Split(k.name, ".")...)...)
				all = append(all, setting{k, field})
			}
		}
	}
	return all
}

// members are the parts of a path that name the family's tables.
func (f *family) members(c *Config) (parts []string) {
	field := reflect.ValueOf(c).Elem().FieldByIndex(f.index)
	if f.list {
		for i := range field.Len() {
			parts = append(parts, indexPart(i))
		}
		return parts
	}
	for _, name := range field.MapKeys() {
		parts = append(parts, name.String())
	}
	slices.Sort(parts)
	return parts
}

// indexPart is the part of a path for a place in a list, from 0; people count from 1.
func indexPart(at int) string { return "[" + strconv.Itoa(at+1) + "]" }

// indexOf is the place in a list that a part of a path names; -1: it names none.
func indexOf(part string) int {
	number, opened := strings.CutPrefix(part, "[")
	number, closed := strings.CutSuffix(number, "]")
	n, err := strconv.Atoi(number)
	if !opened || !closed || err != nil || n < 1 {
		return -1
	}
	return n - 1
}

// ModelsByName are the models of the config. [model] is the one named default; it is left out where nothing sets it, no agent
// names it and there are others.
func (c Config) ModelsByName() map[string]Model {
	all := map[string]Model{}
	for name, m := range c.Models {
		all[name] = *m
	}
	used := c.Context.Model == DefaultName || c.Memory.ReviewModel == DefaultName || slices.ContainsFunc(slices.Collect(maps.Values(c.AgentsByName())), func(d Definition) bool { return slices.Contains(d.Models, DefaultName) })
	if used || len(all) == 0 || c.Model != Default().Model {
		all[DefaultName] = c.Model
	}
	return all
}

// AgentsByName are the agents of the config. The one named default is always there.
func (c Config) AgentsByName() map[string]Definition {
	all := map[string]Definition{DefaultName: c.Agent.Definition}
	for name, d := range c.Agents {
		all[name] = *d
	}
	return all
}

// joinDefaults moves [models.default] to [model] and [agents.default] to [agent], which they stand for. What is set in both is
// an error.
func (l *Loaded) joinDefaults() {
	const model, agent = "models." + DefaultName, "agents." + DefaultName
	if m := l.Config.Models[DefaultName]; m != nil {
		delete(l.Config.Models, DefaultName)
		for _, k := range append([]key{{name: "model"}}, keys...) {
			if o, set := l.origins[k.name]; set && (k.name == "model" || k.section() == "model") {
				l.twice(model, k.name, o)
				break
			}
		}
		l.Config.Model = *m
		l.standIn("model", model)
	}
	d := l.Config.Agents[DefaultName]
	if d == nil {
		return
	}
	delete(l.Config.Agents, DefaultName)
	for _, k := range familyOf("agents").keys {
		name, own := agent+"."+k.name, "agent."+k.name
		if _, set := l.origins[name]; !set {
			continue
		}
		if o, both := l.origins[own]; both {
			l.twice(name, own, o)
		}
		keyByName[own].field(&l.Config).Set(reflect.ValueOf(d).Elem().FieldByIndex(k.index))
	}
	l.standIn("agent", agent)
}

// twice adds the error that name, and with it other, which o set, is there twice.
func (l *Loaded) twice(name, other string, o Origin) {
	where := o.String()
	if o.Line > 0 {
		where = fmt.Sprintf("line %d", o.Line)
	}
	l.add(l.fault(fmt.Sprintf("%s and %s (%s) are the same; remove one of them", name, other, where), name), name)
}

// standIn records that the keys of the table own were set as those of stand.
func (l *Loaded) standIn(own, stand string) {
	l.standing[own] = stand
	for _, k := range keys {
		name, is := strings.CutPrefix(k.name, own+".")
		if o, set := l.origins[stand+"."+name]; is && set {
			l.origins[k.name] = o
			l.faulty[k.name] = l.faulty[k.name] || l.faulty[stand+"."+name]
		}
	}
}

// Names are the names of a table, sorted, default first.
func Names[T any](table map[string]T) []string {
	names := slices.Sorted(maps.Keys(table))
	if at := slices.Index(names, DefaultName); at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, DefaultName)
	}
	return names
}
