package text

import (
	"regexp"
	"sync"
)

// mailAddress is compiled at its first use, because few programs need it.
var mailAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9.!$&'*+=?^_{|}~-]{1,64}@[a-z0-9][a-z0-9.-]{0,100}[a-z0-9]$`)
})

// IsMailAddress reports whether s is an address of mail as people have it, in lower case. Others that RFC 5321 allows are not served: what
// is in them has a meaning in the keys of sessions.
func IsMailAddress(s string) bool { return mailAddress().MatchString(s) }
