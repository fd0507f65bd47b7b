package conversation

import (
	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// InterruptChild ends the child agent of a session's running turn that has this number, as in the agent's row, and says what was
// done. The turn and its other children go on.
func (c *Conversations) InterruptChild(key, child string) (string, error) {
	a, err := c.parent(key, child)
	if err != nil {
		return "", err
	}
	if !a.InterruptChild(child) {
		return "", noChild(key, child)
	}
	return "Interrupted child agent " + child + "; the turn goes on.", nil
}

// TellChild lets the child agent with this number read text after its next step, and says so.
func (c *Conversations) TellChild(key, child, text string) (string, error) {
	a, err := c.parent(key, child)
	if err != nil {
		return "", err
	}
	if !a.TellChild(child, text) {
		return "", noChild(key, child)
	}
	return "child agent " + child + " reads it after its next step", nil
}

// parent is the agent of a session.
func (c *Conversations) parent(key, child string) (*agent.Agent, error) {
	if _, ok := c.o.Table.Get(key); !ok {
		return nil, NoSession(key)
	}
	a, ok := c.o.Cache.Peek(key)
	if !ok {
		return nil, noChild(key, child)
	}
	return a, nil
}

func noChild(key, child string) error {
	return &ops.Error{
		Code: ops.CodeNotFound, Message: "no child agent " + term.Quote(child) + " works for " + term.Clean(key, 80),
		Hint: "it may have ended; `gatewaytui agents --json` lists those that work as delegates",
	}
}
