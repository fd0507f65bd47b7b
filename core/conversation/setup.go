package conversation

import (
	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// Setup is what a config says of conversations. It never changes: a reload makes another one (OP4). A turn keeps the one with which it
// began.
type Setup struct {
	// Number is the generation of the config, from 1. Made is the generation that last changed what agents are made from: an agent of an
	// earlier one is made again at its session's next turn.
	Number, Made int
	// Agent is the part of an agent's configuration that all sessions share, Roster what differs.
	Agent  agent.Config
	Roster *agent.Roster
	Policy session.Policy
	Bounds Bounds
	// Route says which route of the config is that of a session, and what it says of its chat.
	Route func(key string, role ops.Role) string
}

// Generation implements session.Setup.
func (s *Setup) Generation() int { return s.Number }

// Use puts another setup in force. Turns that run keep theirs.
func (c *Conversations) Use(s *Setup) { c.setup.Store(s) }

// now is the setup in force.
func (c *Conversations) now() *Setup { return c.setup.Load() }

// setupOf is the setup that a turn began with.
func (c *Conversations) setupOf(t *session.Turn) *Setup {
	if s, is := t.Setup.(*Setup); is {
		return s
	}
	return c.now()
}
