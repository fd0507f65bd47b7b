package config

import (
	"fmt"
	"slices"
	"strings"
)

// Example is the config file with every key at its default, each with what it does above it.
func Example() string {
	var b strings.Builder
	b.WriteString(`# The config of gatewaytui. Every key is shown with its default; leave out what you do not change.
#
# A duration is written "90s", "10m" or "1h30m", a size "64KiB" or "256MiB". Secrets are never written here: a key that
# ends in _env names the environment variable that holds one, a key that ends in _file the file.
#
# The environment wins over this file: ` + keys[0].env + ` is ` + keys[0].name + `, and so for every key
# outside the tables whose name you choose.
`)
	c := Default()
	for _, s := range sections {
		if s.family != nil {
			b.WriteString(s.commented())
			continue
		}
		own := slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return k.section() != s.name })
		if len(own) > 0 {
			fmt.Fprintf(&b, "\n[%s]\n# %s\n", s.name, s.doc)
		}
		for _, k := range own {
			fmt.Fprintf(&b, "\n# %s\n%s = %s\n", k.doc, k.name[len(s.name)+1:], literal(k.field(&c)))
		}
	}
	return b.String()
}

// commented is a family with one table, all of it as comments: what an operator has not named does not exist.
func (s section) commented() string {
	var b strings.Builder
	member := s.family.made().Elem()
	fmt.Fprintf(&b, "\n# %s\n#\n# %s\n", s.doc, s.family.written())
	for _, k := range s.family.keys {
		fmt.Fprintf(&b, "#\n# # %s\n# %s = %s\n", k.doc, k.name, literal(member.FieldByIndex(k.index)))
	}
	return b.String()
}
