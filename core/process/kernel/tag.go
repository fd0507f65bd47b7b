package kernel

import (
	"bytes"
	"strconv"
)

// Tag says which life a process was born in, and below which of its spawns. Unlike a variable it is inherited by
// everything, whatever that does to its environment, session, group or parents: it is the soft limit of CPU time at
// real-time priority (RLIMIT_RTTIME, getrlimit(2)), of 146,000 years in microseconds, so that it limits nothing. Everybody
// may read it (/proc/PID/limits) without waiting for the process. A process that sets this limit for itself has none.
type Tag uint64

// The bits of a tag: one that makes it one, then the life's, then the spawn's.
const (
	tagBit    = 1 << 62
	spawnBits = 24
	lifeBits  = 38
)

// NewTag is the tag of what spawn number spawn of a life starts; 0 is the life itself, as is what does not fit.
func NewTag(life string, spawn uint64) Tag {
	if spawn >= 1<<spawnBits {
		spawn = 0
	}
	return tagBit | Tag(digest(life)>>(64-lifeBits)<<spawnBits|spawn)
}

// Valid reports whether t is a tag at all.
func (t Tag) Valid() bool { return t&tagBit != 0 && t>>63 == 0 }

// Of reports whether t is of this life.
func (t Tag) Of(life string) bool { return t>>spawnBits == NewTag(life, 0)>>spawnBits }

// From reports whether t is of this life or of what the life keeps beyond its own end: see Kept.
func (t Tag) From(life string) bool { return t.Of(life) || t.Of(Kept(life)) }

// Kept is the life that those spawns of a life are tagged with which are to outlive it when it is killed. The guardian,
// which ends what is of the life, knows nothing of this one.
func Kept(life string) string { return life + "\x00kept" }

// Spawn is the number of the spawn, 0 if it is not known.
func (t Tag) Spawn() uint64 { return uint64(t & (1<<spawnBits - 1)) }

// TagOf reads the tag of pid; zero if it has none or is gone.
func TagOf(pid int, buf []byte) Tag {
	b, err := readFile("/proc/"+strconv.Itoa(pid)+"/limits", buf)
	if err != nil {
		return 0
	}
	return parseLimits(b)
}

// parseLimits reads the tag from the content of /proc/PID/limits (proc_pid_limits(5)).
func parseLimits(b []byte) Tag {
	const name = "Max realtime timeout"
	i := bytes.Index(b, []byte("\n"+name))
	if i < 0 {
		return 0
	}
	b = bytes.TrimLeft(b[i+1+len(name):], " ")
	v := uint64(0)
	for n, c := range b {
		switch {
		case c >= '0' && c <= '9' && n < 19:
			v = v*10 + uint64(c-'0')
		case c == ' ' && Tag(v).Valid():
			return Tag(v)
		default:
			return 0
		}
	}
	return 0
}

// digest is FNV-1a, whose package is set up too late for the guardian, and then mixed: its upper bits alone say little.
func digest(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd // the finalizer of MurmurHash3
	h ^= h >> 33
	return h
}
