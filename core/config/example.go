package config

import (
	"fmt"
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
# The environment wins over this file: ` + keys[0].env + ` is ` + keys[0].name + `, and so for every key.
`)
	c := Default()
	written := ""
	for _, k := range keys {
		if s := k.section(); s != written {
			written = s
			fmt.Fprintf(&b, "\n[%s]\n", s)
			for _, section := range sections {
				if section.name == s {
					fmt.Fprintf(&b, "# %s\n", section.doc)
				}
			}
		}
		name := k.name[len(k.section())+1:]
		fmt.Fprintf(&b, "\n# %s\n%s = %s\n", k.doc, name, literal(k.field(&c)))
	}
	return b.String()
}
