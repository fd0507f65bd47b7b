package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Journal records trees where the record survives us, so that the next life can find what this one left.
type Journal interface {
	// Record records notes in their order, all of them or none: a thousand trees that end together cost one commit. One
	// goroutine calls it, with a ctx of 2 s.
	Record(ctx context.Context, notes []Note) error
}

// Note records that a tree has started, or that nothing of it is left.
type Note struct {
	Entry Entry
	// How is EndedByItself or EndedByKill; empty: it has started.
	How string
}

// How a tree ended.
const (
	EndedByItself = "exited"
	EndedByKill   = "killed"
)

// Entry is a tree in the journal.
type Entry struct {
	Life       string
	PID        int
	StartTicks uint64
	BootID     string
	Session    string
	// Command is as shown: masked, cleaned, shortened.
	Command   string
	Policy    Policy
	StartedAt time.Time
}

const (
	// journalWait bounds one call of the journal. spawnWait is how long a spawn waits for its own entry.
	journalWait = 2 * time.Second
	spawnWait   = time.Second
	// journalBacklog is how many notes wait for a slow journal before new ones are dropped.
	journalBacklog = 4096
	// journalBatch is how many notes are recorded at once.
	journalBatch = 512
)

var errBacklog = errors.New("the journal is too slow: an entry was dropped")

// recorder writes to the journal in order, without blocking callers that must not wait.
type recorder struct {
	journal Journal
	log     *slog.Logger
	wake    chan struct{}

	mu    sync.Mutex
	queue []note
	last  <-chan struct{} // of the note that was queued last; nil: none was
	err   error
}

type note struct {
	Note
	recorded chan struct{}
}

func newRecorder(j Journal, log *slog.Logger) *recorder {
	return &recorder{journal: j, log: log, wake: make(chan struct{}, 1)}
}

// add queues a note: how is that of Note. The channel is closed when the journal has it.
func (c *recorder) add(e Entry, how string) <-chan struct{} {
	n := note{Note{e, how}, make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.journal == nil:
		close(n.recorded)
	case len(c.queue) >= journalBacklog:
		c.err = errBacklog
		close(n.recorded)
	default:
		c.queue, c.last = append(c.queue, n), n.recorded
		nudge(c.wake)
	}
	return n.recorded
}

// wait waits until the journal has an entry, at most as long as a spawn may.
func (c *recorder) wait(ctx context.Context, recorded <-chan struct{}) {
	select {
	case <-recorded:
	case <-ctx.Done():
	case <-time.After(spawnWait):
		c.log.Warn("process journal is slow", "waited_ms", spawnWait.Milliseconds())
	}
}

// flush returns when the journal has what was queued before, or has refused it, which is the error.
func (c *recorder) flush(ctx context.Context) error {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last != nil {
		select {
		case <-last:
		case <-ctx.Done():
			return fmt.Errorf("wait for the process journal: %w", context.Cause(ctx))
		}
	}
	return c.failure()
}

func (c *recorder) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// run writes to the journal until stop is closed, and then the rest of the queue. From then on, the first batch that the
// journal refuses is the last one: a journal that hangs costs one journalWait, however long the queue is.
func (c *recorder) run(stop <-chan struct{}) {
	for {
		stopping := closed(stop) // before the queue is taken: it has everything that was queued until stop
		c.mu.Lock()
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		for len(batch) > 0 {
			n := min(len(batch), journalBatch)
			err := c.record(batch[:n])
			batch = batch[n:]
			if err != nil && closed(stop) {
				for _, rest := range batch {
					close(rest.recorded)
				}
				return
			}
		}
		if stopping {
			return
		}
		select {
		case <-c.wake:
		case <-stop:
		}
	}
}

// record records notes, one or more, and releases the callers that wait for them.
func (c *recorder) record(notes []note) error {
	batch := make([]Note, len(notes))
	for i, n := range notes {
		batch[i] = n.Note
		defer close(n.recorded)
	}
	// Not a caller's context: an event is recorded even if its caller was cancelled.
	ctx, cancel := context.WithTimeout(context.Background(), journalWait)
	defer cancel()
	err := c.journal.Record(ctx, batch)
	if err != nil {
		what := fmt.Sprintf("%d starts and ends of processes", len(batch))
		if first := batch[0]; len(batch) == 1 && first.How == "" {
			what = fmt.Sprintf("start of pid %d", first.Entry.PID)
		} else if len(batch) == 1 {
			what = fmt.Sprintf("end of pid %d", first.Entry.PID)
		}
		err = fmt.Errorf("record %s: %w", what, err)
		c.log.Warn("process journal rejected entries", "pid", batch[0].Entry.PID, "count", len(batch), "error", err)
	}
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	return err
}
