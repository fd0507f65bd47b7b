package agent

import (
	"context"
	"errors"

	"gatewaytui/core/budget"
	"gatewaytui/core/model"
)

// ErrStale is a Memory's error when the writing turn has ended: reset, stopped or abandoned. The turn ends at once and
// writes nothing more (D8, D10).
var ErrStale = errors.New("the turn has ended")

// Memory is the storage of a session's transcript. The gateway implements it over the store. Its methods may be called
// from any goroutine.
type Memory interface {
	// Load returns the session's transcript so far from its last compaction on, including what Append could not write. The agent
	// repairs what an interrupted turn left; Load does not. first means that there is no transcript before the running turn, whose
	// own messages may be left out.
	Load(ctx context.Context, first bool) (Past, error)
	// Compact makes it durable what stands for the older part of the transcript. It deletes nothing. Its errors are those of
	// Append.
	Compact(ctx context.Context, turn string, c Compaction) error
	// Append makes one step of a running turn durable, with the charge of its calls; nil: none. Its error is ErrStale when that turn has ended. After any other
	// error the messages are unsaved: they are kept, and Flush tries again.
	Append(ctx context.Context, turn string, messages []model.Message, c *budget.Charge) error
	// Write does w after all unsaved messages are written. Its errors are those of Append; what w could not write is kept
	// too.
	Write(ctx context.Context, w func(context.Context) error) error
	// Unsaved reports whether something is not durable yet. It takes no lock that is held over I/O, because the cache
	// calls it under its own lock.
	Unsaved() bool
	// Flush writes what is unsaved.
	Flush(ctx context.Context) error
	// Remember gives the conversation to what outlives it (HR5), after a Flush.
	Remember(ctx context.Context) error
	// Shutdown ends the memory's own provider, after the last Flush and Remember.
	Shutdown(ctx context.Context) error
}

// Past is a transcript from its last compaction on.
type Past struct {
	Compaction
	// Pins are texts that every model call has.
	Pins []string
	// Messages have their Seq.
	Messages []model.Message
}

// volatile is the memory of an agent that is never resumed: a child's transcript ends with it.
type volatile struct{}

func (volatile) Load(context.Context, bool) (Past, error) { return Past{}, nil }

func (volatile) Compact(context.Context, string, Compaction) error { return nil }

func (volatile) Append(context.Context, string, []model.Message, *budget.Charge) error { return nil }

func (volatile) Write(ctx context.Context, w func(context.Context) error) error {
	return w(ctx)
}
func (volatile) Unsaved() bool                  { return false }
func (volatile) Flush(context.Context) error    { return nil }
func (volatile) Remember(context.Context) error { return nil }
func (volatile) Shutdown(context.Context) error { return nil }

// Memory is the storage of the agent's transcript, from its Config.
func (a *Agent) Memory() Memory { return a.cfg.Memory }
