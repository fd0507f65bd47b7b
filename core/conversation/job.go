package conversation

import (
	"context"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// Jobs are what runs at a time. *schedule.Book is one.
type Jobs interface {
	// Chat carries out /jobs with words, for the sender of m in the session of key, where the agent with this name works.
	Chat(ctx context.Context, key string, m session.Message, agent, words string) (string, error)
}

// jobs is /jobs.
func (c *Conversations) jobs(ctx context.Context, u use) (string, error) {
	agent := c.now().Roster.Pick(session.Owner(u.key), u.msg.Role, u.msg.Agent).Name
	return c.o.Jobs.Chat(ctx, u.key, u.msg, agent, u.arg)
}

// RunJob implements schedule.Turns. The conversation stays until the next run, so that operators can read it. Its agent is closed with
// all processes when the turn has ended: nothing of a run outlives it.
func (c *Conversations) RunJob(ctx context.Context, key string, m session.Message) (string, error) {
	if err := c.o.Gate.Load(ctx, key); err != nil {
		return "", err
	}
	if _, known := c.o.Table.Get(key); known {
		if _, err := c.End(ctx, key, Cause{Reason: "the next run of its job began"}); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
			return "", err
		}
	}
	text, err := c.relay(ctx, key, m)
	s, known := c.o.Table.Get(key)
	if _, running := c.o.Table.Running(key); known && !running {
		c.closeAgent(ctx, key, s.ID)
	}
	return text, err
}
