package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// server is one definition with its list of tools and its running instances.
type server struct {
	set *Set
	def Definition
	// mark stands for what the definition says.
	mark string
	// prepared is closed when the first try to have a list is over.
	prepared chan struct{}
	begin    sync.Once

	mu sync.Mutex // guards what follows; never held over I/O, nor over the lock of an instance
	// tools is the list as it is offered; known says that there was one. refused says which tools are not offered, and why.
	tools   []listed
	known   bool
	refused string
	// instances are by session; one of the gateway has the session "".
	instances map[string]*instance
	retiring  bool
	// trying says that a start for the list is under way, since when the definition is in force.
	trying bool
	since  time.Time
	calls  int64 // that were answered in this life
}

// markOf stands for what a definition says.
func markOf(d Definition) string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // it has plain fields alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func newServer(set *Set, d Definition) *server {
	return &server{set: set, def: d, mark: markOf(d), since: time.Now(), prepared: make(chan struct{}), instances: map[string]*instance{}}
}

// transport is how the server is reached, for its row.
func (s *server) transport() string {
	if s.def.URL != "" {
		return "http"
	}
	return "stdio"
}

// prepare reads the list that is kept, once, on a goroutine. Where there is none it starts the server for it.
func (s *server) prepare() {
	s.begin.Do(func() {
		running := s.set.start(func() {
			defer close(s.prepared)
			if tools, err := s.set.readList(s); err == nil {
				s.setTools(tools, nil)
				return
			}
			s.discover()
		})
		if !running {
			close(s.prepared)
		}
	})
}

// discover starts the server for its list and closes it again.
func (s *server) discover() {
	i, l, err := s.acquire(s.set.ctx, "")
	if err != nil {
		return // its row says why, and the next turn tries again
	}
	i.release(l, errNoCall)
	_ = i.end(s.set.ctx, endedUnused, false) // only the stop ends this wait early
}

// errNoCall is the outcome of a use without a call.
var errNoCall = errors.New("no call")

// answered counts a call that was answered.
func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

// key is the session under which the instance for a session runs.
func (s *server) key(session string) string {
	if s.def.Scope == ops.ServerOfGateway {
		return ""
	}
	return session
}

// instance is the instance for a key, made if there is none; nil after CloseAll. Nothing starts by it.
func (s *server) instance(key string) *instance {
	s.set.mu.Lock()
	closed := s.set.closed
	s.set.mu.Unlock()
	if closed {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instances[key]
	if i == nil {
		i = &instance{server: s, session: key, state: ops.ServerIdle, since: time.Now()}
		s.instances[key] = i
	}
	return i
}

// existing are the instances, by session.
func (s *server) existing() (all []*instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.instances {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *instance) int { return cmp.Compare(a.session, b.session) })
	return all
}

// drop forgets an instance that holds nothing.
func (s *server) drop(i *instance) {
	s.mu.Lock()
	if s.instances[i.session] == i {
		delete(s.instances, i.session)
	}
	over := s.retiring && len(s.instances) == 0
	s.mu.Unlock()
	if over {
		s.set.forget(s)
	}
}

// retire closes the instances that no call uses, and makes the others close soon after their last call.
func (s *server) retire() {
	s.mu.Lock()
	s.retiring = true
	none := len(s.instances) == 0
	s.mu.Unlock()
	if none {
		s.set.forget(s)
	}
	for _, i := range s.existing() {
		i.hurry()
	}
}

// idle is how long an instance runs that is not used.
func (s *server) idle() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retiring {
		return retiredIdle
	}
	return s.def.Idle
}

// retiredIdle is how long an instance of an earlier config runs that is not used. A turn of that config may call it again.
const retiredIdle = 5 * time.Second
