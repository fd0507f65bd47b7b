package mail

import "sync"

const (
	// maxHandled bounds the mails that are remembered.
	maxHandled = 4096
	// patience is how often a whole mail is read. If the connection ends each time, its beginning has to do.
	patience = 2
	// beginning is the most that is read of such a mail, in bytes.
	beginning = 256 << 10
)

// handled are the mails of this life that were handled, because the mark on one may have failed, and how often those that are not were
// read. The zero value is ready.
type handled struct {
	mu    sync.Mutex
	seen  map[string]bool
	reads map[string]int
}

// add notes that the mail with this name was handled.
func (h *handled) add(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil || len(h.seen) >= maxHandled {
		h.seen = map[string]bool{}
	}
	h.seen[name] = true
}

// has reports whether the mail with this name was handled.
func (h *handled) has(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen[name]
}

// most is how many bytes are now read of the mail at this place.
func (h *handled) most(place string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reads == nil || len(h.reads) >= maxHandled {
		h.reads = map[string]int{}
	}
	if h.reads[place]++; h.reads[place] > patience {
		return beginning
	}
	return maxMail
}
