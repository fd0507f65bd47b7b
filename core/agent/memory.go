package agent

import (
	"context"
	"errors"

	"gatewaytui/core/model"
)

// ErrStale is what a Memory answers when the turn that writes is over: reset, stopped or abandoned. The turn ends at
// once and writes nothing more (D8, D10).
var ErrStale = errors.New("the turn is over")

// Memory is where a session's transcript lives. The gateway implements it over the store. Its methods may be called from
// any goroutine.
type Memory interface {
	// Load returns the session's transcript so far, what Append could not write included. The agent fixes what a cut-off
	// turn left behind; nothing has to be fixed here.
	Load(ctx context.Context) ([]model.Message, error)
	// Append makes one step of a running turn durable. Its error is ErrStale when that turn is over. After any other error
	// the messages are unsaved: they are kept, and Flush tries again.
	Append(ctx context.Context, turn string, messages []model.Message) error
	// Write does w after everything that is unsaved. Its errors are those of Append; what w could not write is kept too.
	Write(ctx context.Context, w func(context.Context) error) error
	// Unsaved reports whether something is not durable yet. It takes no lock that is held over I/O: the cache asks while
	// it holds its own.
	Unsaved() bool
	// Flush writes what is unsaved.
	Flush(ctx context.Context) error
	// Shutdown ends the memory's own provider, after the last Flush.
	Shutdown(ctx context.Context) error
}

// volatile is the memory of an agent that nobody resumes: a child's transcript lives and dies with it.
type volatile struct{}

func (volatile) Load(context.Context) ([]model.Message, error)         { return nil, nil }
func (volatile) Append(context.Context, string, []model.Message) error { return nil }
func (volatile) Write(ctx context.Context, w func(context.Context) error) error {
	return w(ctx)
}
func (volatile) Unsaved() bool                  { return false }
func (volatile) Flush(context.Context) error    { return nil }
func (volatile) Shutdown(context.Context) error { return nil }

// Save does the last write of a turn, after everything of the transcript that is unsaved. The error is ErrStale when that
// turn is over. After any other error w is kept, and the memory's Flush tries it again.
func (a *Agent) Save(ctx context.Context, w func(context.Context) error) error {
	return a.cfg.Memory.Write(ctx, w)
}

// Memory is where the agent's transcript lives, as its Config said.
func (a *Agent) Memory() Memory { return a.cfg.Memory }
