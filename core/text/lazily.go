package text

import (
	"regexp"
	"sync"
)

// Lazily compiles a regular expression at its first use, and panics then if expr is wrong. It is for expressions that few gateways
// need: each start, of a verb too, pays for those that are compiled at once.
func Lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
