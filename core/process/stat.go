package process

import (
	"bytes"

	"gatewaytui/core/process/kernel"
)

type (
	ident = kernel.Ident
	proc  = kernel.Stat
)

// marks are the marker variables of one environment.
type marks struct {
	life, session, spawn string
}

// parseEnviron reads the markers from the content of /proc/PID/environ, which the process may have overwritten with
// anything. The first variable of each name counts, as for getenv(3).
func parseEnviron(b []byte) (m marks) {
	into := map[string]*string{EnvLife: &m.life, EnvSession: &m.session, EnvSpawn: &m.spawn}
	for entry := range bytes.SplitSeq(b, []byte{0}) {
		name, value, ok := bytes.Cut(entry, []byte{'='})
		if to := into[string(name)]; ok && to != nil && *to == "" {
			*to = string(value)
		}
	}
	return m
}
