package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
	"gatewaytui/core/term"
)

// Containment names how the registry keeps track of the descendants of its children.
type Containment string

// The levels. At each the guardian ends what outlives the program.
const (
	// ContainmentSubreaper means adoption of orphans, inherited marks, scans of /proc, and a parent-death signal for direct
	// children.
	ContainmentSubreaper Containment = "subreaper"
	// ContainmentCgroup adds a control group (v2) for each tree. A child is in it from its first instruction, and one
	// write kills the whole group, however fast it forks.
	ContainmentCgroup Containment = "cgroup"
)

// Errors that callers decide on.
var (
	// ErrClosing refuses a spawn after Refuse or Close.
	ErrClosing = errors.New("no new subprocess is started: the gateway is stopping")
	// ErrNotTracked means that no tracked tree has this pid as its leader.
	ErrNotTracked = errors.New("no tracked process has this pid")
	// ErrNoProgram means that a program without a slash is not in PATH.
	ErrNoProgram = exec.ErrNotFound
	// ErrOpen refuses a second registry in one program, because adoption and waiting belong to the whole program.
	ErrOpen = errors.New("another registry is open in this program")
)

// Options of a Registry.
type Options struct {
	// Life and HomeID mark the children. Life is how a marked process is recognised as ours. Required.
	Life, HomeID string
	// Journal is where trees are recorded; nil records nothing.
	Journal Journal
	// KillGrace is the time from TERM to KILL in Close. Other kills take their grace as an argument.
	KillGrace time.Duration
	// MaxAge is the age at which a tree is ended, for every policy; 0: no limit.
	MaxAge time.Duration
	// PerSession and Total bound the trees of one session and of all (HF9); 0: no bound. OnLimit is called with the name
	// of the bound that refuses a spawn. It must not block, and may be nil.
	PerSession, Total int
	OnLimit           func(name string)
	// Containment is the level to use. Empty means the strongest that the machine allows. With ContainmentCgroup, Open
	// and Spawn fail where there are no control groups.
	Containment Containment
	// Bounds limit the control groups of trees, where the machine grants the controllers. With nil there are no limits,
	// and the program stays in the control group that it was started in.
	Bounds *Bounds
	// Share bounds the processes of a session where a Spec names no share.
	Share Share
	// Guardian keeps a guardian process running with the program.
	Guardian bool
	// Pass reports whether children see a variable of our environment; nil: they see none. It may be called from any
	// goroutine.
	Pass func(name, value string) bool
	// Secrets are names of environment variables that no child sees, even if Pass or a Spec names them.
	Secrets []string
	// OnEvent gets starts (ops.EventProcessStarted), ends of leaders (EventProcessExited), verified kills
	// (EventProcessKilled), limits and ages that were reached. text describes the event in one line, for people. It is
	// called without locks, from any goroutine, and must not block.
	OnEvent func(typ ops.EventType, row ops.Process, text string)
	// Redactor masks secrets in what is shown of a process, and its known values in what the process writes. With nil,
	// only text that looks like a secret is masked, in what is shown.
	Redactor *term.Redactor
	// Log is required.
	Log *slog.Logger
}

// Registry starts, contains, watches and ends subprocesses. Its methods may be called from any goroutine, between Open
// and Close.
type Registry struct {
	opts Options
	// rules are those in force.
	rules atomic.Pointer[Rules]
	self  self
	log   *slog.Logger

	spawns  chan *spawnRequest
	nudges  chan struct{} // asks for a sweep
	reapNow chan struct{} // asks for a reap
	// presentNews signals that present was replaced.
	presentNews chan struct{}
	ctx         context.Context // ended by Close: the loops end
	stop        context.CancelFunc
	loops       sync.WaitGroup
	readers     sync.WaitGroup

	journal *recorder
	peeker  *peeker
	// scanTurn is held by the goroutine that scans; it holds one token. It is held over reads of /proc/PID/stat, which do not wait for the process that they describe. Reads that may wait go through peeker. See
	// takeScan.
	scanTurn chan struct{}
	// send delivers a signal. Tests of processes that cannot be killed replace it.
	send func(t *target, sig unix.Signal, group bool) error
	// tag says that children are tagged. Tests of machines without tags clear it before Open.
	tag bool
	// tagless is why children are not tagged, if the kernel refused.
	tagless error
	// oom tells which processes the kernel ended for lack of memory. Tests replace its count.
	oom endings
	// untraceable says that children cannot be held at their exec. It belongs to the spawner.
	untraceable bool
	// processLimit bounds the processes of each child; 0: no bound.
	processLimit uint64
	// groups are set by Open; nil: this machine grants none.
	groups *groups
	// groupless is why there are no groups.
	groupless string
	// old are groups of version 1 for what version 2 cannot bound here; nil: there are none. It is set before divided is closed.
	old *oldGroups
	// yielding says that a session is at its limit; see yield. The sweeper sets it, and a kill takes it back.
	yielding atomic.Bool
	// killing counts the kills that wait for processes to end after KILL.
	killing atomic.Int32
	// divided is closed when division is set.
	divided  chan struct{}
	division division
	// watched is closed when the first guardian watches.
	watched chan struct{}
	reaped  atomic.Uint64 // adopted children that were waited for

	mu        sync.Mutex // guards what follows; never held over I/O
	open      bool
	refused   bool
	closing   bool
	unclean   bool              // Close left survivors: they are left to the guardian
	pending   map[uint64]*tree  // starts that may have a child which is not in trees yet, and what their trees will be: session, turn and policy alone
	spawned   map[string]uint64 // by session: its last spawn, until a kill verified that nothing of the session is left
	lastID    uint64
	trees     map[uint64]*tree
	byPID     map[int]*tree       // the newest tree of each leader's pid
	owners    map[ident]*tree     // every live member seen by the last scan
	adopted   map[int]struct{}    // direct children that we did not start, at the last scan
	silent    map[ident]time.Time // those of them that have not identified themselves yet, since when
	present   []ident             // what the guardian ends if we cannot, at the last scan. Replaced, never changed
	shed      map[ident]shedder   // members that took their tag off
	waited    uint64              // all children that were waited for
	swept     bool                // a kill of everything was verified after Refuse
	next      *round              // the next scan, not begun yet, and its waiters; nil: there is none
	foreign   map[ident]bool      // descendants from before Open, and the guardian; true: children, whose status the reaper leaves alone. Replaced, never changed
	searches  chan struct{}       // holds a token for each search of SocketOwner
	outside   []ident             // processes that held a socket and are not ours, newest last: see SocketOwner
	ended     []*Process          // the last endedKept background processes whose trees are gone
	scans     uint64              // scans begun
	scanErr   error
	sampled   time.Time
	ticks     map[ident]uint64 // CPU ticks of each member at the last sample
	ungrouped lasting          // why the last spawn had no group for itself
	unlimited lasting          // why the group of the last tree was not limited as division says
	stay      bool             // Close leaves the program in its current group
	guardian  int              // its pid; 0: no guardian watches
	unguarded lasting          // why none watches
	opened    time.Time
}

// endedKept is how many ended background processes keep their output for Get.
const endedKept = 64

func (r *Registry) emit(typ ops.EventType, row ops.Process, text string) {
	if r.opts.OnEvent != nil {
		r.opts.OnEvent(typ, row, text)
	}
}

// tree is a leader and everything that was seen to descend from it. It is removed once its leader was waited for and
// nothing of it is left. Either none of our children can belong to it (Registry.childrenGone), or two later scans in a row
// found no member and no orphan that may be one. Registry.mu guards it.
type tree struct {
	id      uint64
	leader  ident
	handle  *Process // nil: adopted, and its output is not ours to read
	session string
	turn    string
	job     job // zero: not known, because it was adopted
	policy  Policy
	origin  ops.Origin
	command string // for display
	started time.Time
	dir     string // of its control group; empty: it has no group for itself
	// tag identifies the members of a tree that an earlier life started, which do not descend from us; zero: this life
	// started it.
	tag  kernel.Tag
	ppid int    // of the leader; 0: ours
	pipe uint64 // the inode of the pipe that its output goes to; 0: not known

	pidfd    int       // of the leader, open until the tree is gone; -1: none
	leading  bool      // the leader was not waited for yet; adopted: the last scan found it
	leftAt   uint64    // the number of scans begun when the leader was waited for
	leftTick uint64    // when that was, in clock ticks since boot
	empty    bool      // the last scan found no process of it
	killing  int       // kills under way
	killed   bool      // a kill was requested
	failed   bool      // the last kill was not verified
	overdue  time.Time // when it was last ended because of its age
	members  []ident
	rss      int64
	cpuPct   float64
	lastSeen int64 // bytes of output when lastLine was taken
	lastLine string
	limit    string // the control group limit that it reached, for people; empty: none
	hit      string // the name of that limit, as rows have it
	sharing  sharing
	belongs  string // Spec.Owner
	carrier  Carrier
	// environment is the name of what it runs in; empty: the machine itself, or not known.
	environment string
}

// job identifies equal work (C17): one command of one session in one directory.
type job struct{ session, dir, argv string }

// Exit is how a leader ended.
type Exit struct {
	// Code is the exit status; 128 + n if signal n ended the leader, as in shells; CodeUnknown for an adopted process.
	Code int
	// Signal is the signal that ended the leader; 0: none did.
	Signal syscall.Signal
	// Limit names the limit of the machine that ended the leader, for people; empty: none did, as far as known.
	Limit string
	At    time.Time
}

// CodeUnknown is the code of a leader that an earlier life started. It was not our child, and only the parent learns how
// a process ended (wait(2)).
const CodeUnknown = -1

// Process is a process that we started, or adopted with its output. Its methods may be called from any goroutine, at any
// time.
type Process struct {
	r    *Registry
	tree *tree
	pty  bool

	out  *output
	pipe *os.File // closed by read when it ends, or by treeGone

	in     *os.File      // nil: none; a terminal's is pipe
	data   *os.File      // the standard output of one with Spec.Pipes, which is the caller's; nil: it is in pipe
	inTurn chan struct{} // held by the writer; holds one

	drained chan struct{}   // closed when the pipe is at its end
	exited  chan struct{}   // closed when exit is set
	exit    Exit            // written before exited is closed
	noted   <-chan struct{} // closed when the journal has the start

	endKnown *atomic.Bool
}

// spawnRequest is a fork on its way to the spawner's thread.
type spawnRequest struct {
	spec Spec
	path string
	id   uint64
	env  []string
	// sharing is set by the spawner.
	sharing sharing
	result  chan spawnResult
	gone    chan struct{} // closed when the caller no longer waits for the result
}

type spawnResult struct {
	p   *Process
	err error
}

// view is the outcome of a scan.
type view struct {
	// owned are the live members of each tree. unattributed are the live descendants that belong to no tree, and
	// processes elsewhere that carry our life's marker.
	owned        map[*tree][]proc
	unattributed []proc
	// silent counts the unattributed processes that are orphans and have not identified themselves yet.
	silent int
	// unverified says that another scan is needed: for silent ones, or to know that a tree has ended.
	unverified bool
	err        error
}

// round is a scan that several callers share. Registry.mu guards elsewhere and asked. v is written before done is closed.
type round struct {
	elsewhere bool
	asked     int // how many callers share it
	v         view
	done      chan struct{}
}

// shedder is a member of a tree that took its tag off.
type shedder struct {
	tree  *tree
	entry Entry
}

// forkedChild is a child and our ends of its streams.
type forkedChild struct {
	kernel.Ident
	pidfd int
	out   *os.File // its output, non-blocking
	in    *os.File // its input, non-blocking; nil: none
	data  *os.File // its standard output where that is not in out, non-blocking; nil: it is
	dir   string   // of its control group; empty: it has no group for itself
	pipe  uint64   // the inode of the pipe that out reads; 0: out is not a pipe
}

func (c *forkedChild) close() {
	_, _, _ = c.out.Close(), c.in.Close(), c.data.Close() // nothing was written; a file that is nil or closed already is left alone
	closeFD(c.pidfd)
}
