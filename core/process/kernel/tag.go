package kernel

import (
	"bytes"
	"strconv"
)

// Tag says which life a process was born in, and below which of its spawns. Unlike a variable it is inherited by
// everything, whatever that does to its environment, session, group or parents: it is the soft limit of CPU time at
// real-time priority, of 146,000 years in microseconds, and that of file locks (RLIMIT_RTTIME, RLIMIT_LOCKS,
// getrlimit(2)), so that it limits nothing. Everyone may read them (/proc/PID/limits) without waiting for the process.
//
// A process may give itself other soft limits, and so take both tags off. The hard limits it can only lower: without
// CAP_SYS_RESOURCE they are never unlimited again, and say that the process was started by a gateway (Marks.Shed, HF6).
type Tag uint64

// The bits of a tag: one that makes it one, then the life's, then the spawn's.
const (
	tagBit    = 1 << 62
	spawnBits = 24
	lifeBits  = 38
)

// bound is the hard limit of what carries a tag: above every tag, and none itself.
const bound = 1 << 63

// Free takes the place of a tag in what belongs to no life, although its hard limits are bounded: see SetTag.
var Free = NewTag("\x00free", 0)

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

// Marks is what the limits of a process say of its birth.
type Marks struct {
	// Tags are those of the limits that carry one; zero: that one carries none.
	Tags [len(tagLimits)]Tag
	// Bounded says that the hard limit of each is bounded.
	Bounded bool
	// Processes is the hard RLIMIT_NPROC; its greatest value is unlimited.
	Processes uint64
}

// MarksOf reads the marks of pid, with buf, which 4 KiB are enough for; zero if it is gone.
func MarksOf(pid int, buf []byte) Marks {
	b, err := readFile("/proc/"+strconv.Itoa(pid)+"/limits", buf)
	if err != nil {
		return Marks{}
	}
	return parseMarks(b)
}

// TagOf is MarksOf(pid, buf).Tag().
func TagOf(pid int, buf []byte) Tag { return MarksOf(pid, buf).Tag() }

// Tag is the tag; zero if there is none, or none of a life.
func (m Marks) Tag() Tag {
	for _, t := range m.Tags {
		if t.Valid() && t != Free {
			return t
		}
	}
	return 0
}

// TagFrom is the tag if any of them is from this life, and zero if none is.
func (m Marks) TagFrom(life string) Tag {
	for _, t := range m.Tags {
		if t.Valid() && t.From(life) {
			return t
		}
	}
	return 0
}

// Shed reports whether the process was born with a tag, or descends from one that was, and has none any more.
func (m Marks) Shed() bool { return m.Bounded && m.Tags == [len(tagLimits)]Tag{} }

// parseMarks reads the content of /proc/PID/limits (proc_pid_limits(5)).
func parseMarks(b []byte) (m Marks) {
	var hards [len(tagLimits)]uint64
	for i, name := range [...]string{"Max realtime timeout", "Max file locks"} {
		var soft uint64
		soft, hards[i] = limitOf(b, name)
		if t := Tag(soft); t.Valid() {
			m.Tags[i] = t
		}
	}
	m.Bounded = true
	for _, hard := range hards {
		m.Bounded = m.Bounded && hard != infinity
	}
	_, m.Processes = limitOf(b, "Max processes")
	return m
}

// limitOf is a line's soft and hard limit; what is unlimited, or not a number, is infinity.
func limitOf(b []byte, name string) (soft, hard uint64) {
	i := bytes.Index(b, []byte("\n"+name))
	if i < 0 {
		return infinity, infinity
	}
	b = b[i+1+len(name):]
	if end := bytes.IndexByte(b, '\n'); end >= 0 {
		b = b[:end]
	} else {
		return infinity, infinity // cut short
	}
	soft, b = word(b)
	hard, _ = word(b)
	return soft, hard
}

// word is the number that b begins with behind blanks, and what follows it.
func word(b []byte) (v uint64, rest []byte) {
	b = bytes.TrimLeft(b, " ")
	end := max(bytes.IndexByte(b, ' '), 0)
	v, err := strconv.ParseUint(string(b[:end]), 10, 64)
	if err != nil {
		v = infinity
	}
	return v, b[end:]
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
