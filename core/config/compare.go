package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Difference is a key that has one value in one config and another in a second one, or a table of a family that only one of them has.
type Difference struct {
	// Key is the key as it stands in the file: models.main.name. Form has NAME and [] in place of what an operator chose:
	// models.NAME.name, routes[].match. Both name a whole table where only one config has it: models.main, models.NAME.
	Key, Form string
	// Before and After are the values as Config has them, and the default of the key for a table that is not there. Both are nil for a
	// whole table, and where only the content of a file that the key names changed.
	Before, After any
	// Old and New are the values as they would stand in the file. They hold no secret. Of a whole table one is empty, and the other
	// says that the table is there.
	Old, New string
}

// tableThere stands for a whole table.
const tableThere = "a table"

// Differences are the keys in which two configs differ, in the order of the example, then those of families.
func Differences(before, after *Loaded) []Difference {
	var all []Difference
	for _, k := range keys {
		all = append(all, differs(k.name, k.name, k.field(&before.Config), k.field(&after.Config))...)
		if k.name == "agent.prompt_file" {
			all = append(all, otherPrompt(k.name, k.name, &before.Config.Agent.Definition, &after.Config.Agent.Definition)...)
		}
	}
	for _, s := range sections {
		if s.family != nil {
			all = append(all, s.family.differences(&before.Config, &after.Config)...)
		}
	}
	return all
}

// Forms are the forms of all keys and of the tables of families.
func Forms() (all []string) {
	for _, k := range keys {
		all = append(all, k.name)
	}
	for _, s := range sections {
		if s.family == nil {
			continue
		}
		all = append(all, s.family.form(""))
		for _, k := range s.family.keys {
			all = append(all, s.family.form(k.name))
		}
	}
	return all
}

// form is the form of a key of the family; of the empty key it is that of the table.
func (f *family) form(key string) string {
	table := f.name + ".NAME"
	if f.list {
		table = f.name + "[]"
	}
	return strings.TrimSuffix(table+"."+key, ".")
}

// differences are the keys of the family in which two configs differ. A table that is not there has its defaults.
func (f *family) differences(before, after *Config) (all []Difference) {
	had, has := f.members(before), f.members(after)
	parts := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(had), has...))))
	if f.list && len(has) > len(had) { // in their order, also from the tenth on
		parts = has
	} else if f.list {
		parts = had
	}
	for _, part := range parts {
		table := f.path(part)
		old, new := f.made().Elem(), f.made().Elem()
		was, is := slices.Contains(had, part), slices.Contains(has, part)
		if was {
			old = f.member(before, part)
		}
		if is {
			new = f.member(after, part)
		}
		if was != is {
			d := Difference{Key: table, Form: f.form(""), Old: tableThere}
			if is {
				d.Old, d.New = d.New, d.Old
			}
			all = append(all, d)
		}
		for _, k := range f.keys {
			name := f.path(append([]string{part}, strings.Split(k.name, ".")...)...)
			all = append(all, differs(name, f.form(k.name), old.FieldByIndex(k.index), new.FieldByIndex(k.index))...)
			if k.name == "prompt_file" && was && is {
				all = append(all, otherPrompt(name, f.form(k.name), old.Addr().Interface().(*Definition), new.Addr().Interface().(*Definition))...)
			}
		}
	}
	return all
}

// differs is the difference of two fields; none where they are equal.
func differs(name, form string, before, after reflect.Value) []Difference {
	old, new := literal(before), literal(after)
	if old == new {
		return nil
	}
	d := Difference{Key: name, Form: form, Before: before.Interface(), After: after.Interface(), Old: shown(before), New: shown(after)}
	if namesSecret(name) { // a secret may have been put there
		d.Old, d.New = hidden(old), hidden(new)
	}
	return []Difference{d}
}

// hidden is a value that is not shown.
func hidden(literal string) string {
	if literal == `""` {
		return literal
	}
	return "(not shown)"
}

// otherPrompt is the difference of two prompt files that have the same name.
func otherPrompt(name, form string, before, after *Definition) []Difference {
	if before.PromptFile == "" || before.PromptFile != after.PromptFile || before.Text == after.Text {
		return nil
	}
	size := func(d *Definition) string { return fmt.Sprintf("a file of %d bytes", len(d.Text)) }
	return []Difference{{Key: name, Form: form, Old: size(before), New: size(after)}}
}

// Holding is after with the values of before at the keys that hold picks by name. Keys of families stay as they are.
func Holding(before, after *Loaded, hold func(name string) bool) Loaded {
	held := *after
	held.origins = maps.Clone(after.origins)
	for _, k := range keys {
		if !hold(k.name) {
			continue
		}
		k.field(&held.Config).Set(k.field(&before.Config))
		delete(held.origins, k.name)
		if o, set := before.origins[k.name]; set {
			held.origins[k.name] = o
		}
	}
	return held
}
