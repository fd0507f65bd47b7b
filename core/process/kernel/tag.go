package kernel

// Tag identifies the life and the spawn that a process comes from. Unlike a variable it is always inherited, also by a
// process that changes its environment, session, group or parents. It is the soft limit of CPU time at real-time
// priority, of 146,000 years in microseconds, and that of file locks (RLIMIT_RTTIME, RLIMIT_LOCKS, getrlimit(2)), so it
// limits nothing. Any process may read them (/proc/PID/limits) without waiting for the process.
//
// A process may set other soft limits, and so take both tags off. It can only lower the hard limits. Without
// CAP_SYS_RESOURCE they never become unlimited again, and show that a gateway started the process (Marks.Shed, HF6).
type Tag uint64

// The bits of a tag: one that marks it as a tag, then the life's, then the spawn's.
const (
	tagBit    = 1 << 62
	spawnBits = 24
	lifeBits  = 38
)

// bound is the hard limit of a process with a tag. It is above every tag, and is not a tag.
const bound = 1 << 63

// Free replaces the tag of a process that belongs to no life, although its hard limits are bounded: see SetTag.
var Free = NewTag("\x00free", 0)

// NewTag is the tag of what spawn number spawn of a life starts. 0 is the life itself, and so is a number that does not
// fit.
func NewTag(life string, spawn uint64) Tag {
	if spawn >= 1<<spawnBits {
		spawn = 0
	}
	return tagBit | Tag(digest(life)>>(64-lifeBits)<<spawnBits|spawn)
}

// Valid reports whether t is a tag.
func (t Tag) Valid() bool { return t&tagBit != 0 && t>>63 == 0 }

// Of reports whether t belongs to this life.
func (t Tag) Of(life string) bool { return t>>spawnBits == NewTag(life, 0)>>spawnBits }

// From reports whether t belongs to this life or to what the life keeps after its own end: see Kept.
func (t Tag) From(life string) bool { return t.Of(life) || t.Of(Kept(life)) }

// Kept is the life in the tags of spawns that are to outlive a life when it is killed. The guardian ends only what
// belongs to the life, and does not know this one.
func Kept(life string) string { return life + "\x00kept" }

// Spawn is the number of the spawn; 0: not known.
func (t Tag) Spawn() uint64 { return uint64(t & (1<<spawnBits - 1)) }

// Marks is what the limits of a process show of its origin.
type Marks struct {
	// Tags are those of the limits that carry a tag; zero: this limit carries none.
	Tags [2]Tag
	// Bounded means that all their hard limits are bounded.
	Bounded bool
	// Processes is the hard RLIMIT_NPROC; its greatest value means unlimited.
	Processes uint64
}

// Tag is the tag of a life; zero: there is none.
func (m Marks) Tag() Tag { return m.first(func(t Tag) bool { return t != Free }) }

// TagFrom is the tag that is from this life; zero: none is.
func (m Marks) TagFrom(life string) Tag { return m.first(func(t Tag) bool { return t.From(life) }) }

// TagOf is the tag that is of this life; zero: none is.
func (m Marks) TagOf(life string) Tag { return m.first(func(t Tag) bool { return t.Of(life) }) }

func (m Marks) first(want func(Tag) bool) Tag {
	for _, t := range m.Tags {
		if t.Valid() && want(t) {
			return t
		}
	}
	return 0
}

// Shed reports whether the process or an ancestor was started with a tag, and it has none any more.
func (m Marks) Shed() bool { return m.Bounded && m.Tags == [2]Tag{} }

// digest is FNV-1a, whose package is set up too late for the guardian, and then mixed, because its upper bits alone vary
// little.
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
