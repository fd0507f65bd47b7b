package conversation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// agentOf returns the agent that works on a turn, held until the turn ends: the cached one, or a new one. It does not take the
// agent of an earlier conversation under the same key, which a late worker may have left. An agent of the same conversation with
// another definition or model leaves its memory, with what is not saved of it, to the new one.
func (c *Conversations) agentOf(t *session.Turn, d *agent.Definition) *agent.Agent {
	s, set := t.Session, c.setupOf(t)
	choice := c.choice(set.Roster, s.Key)
	var kept agent.Memory = c.memoryOf(s.ID, s.Key)
	if a, ok := c.o.Cache.Get(s.Key); ok {
		made := a.MadeFrom()
		switch {
		case a.Conversation() != s.ID:
			c.abandon(a, "it belongs to an earlier conversation")
		case made == agent.MadeFrom{Definition: d.Name, Chosen: choice, Made: set.Made}:
			return a
		case made.Made != set.Made:
			kept = a.Memory()
			c.abandon(a, "the config has changed")
		default:
			kept = a.Memory()
			c.abandon(a, "the session has another agent or model")
		}
	}
	cfg := set.Agent
	cfg.Session, cfg.Conversation, cfg.Passing = s.Key, s.ID, session.IsRequest(s.Key)
	cfg.Memory, cfg.Definition, cfg.Chosen, cfg.Made, cfg.Models, cfg.Tools = kept, d.Name, choice, set.Made, set.Roster.Models(d, choice), d.Tools
	cfg.More = d.More
	cfg.External = d.External
	a := agent.New(cfg)
	c.evict(c.o.Cache.Put(a), "the cache is full")
	c.o.Events.Emit(ops.EventAgentCached, s.Key, "agent made", nil)
	return a
}

// choice is the model that the people of a session chose, of a /background session those of its conversation; empty: none, or one
// that the roster does not have.
func (c *Conversations) choice(roster *agent.Roster, key string) string {
	s, _ := c.o.Table.Get(session.Owner(key))
	if _, known := roster.Pool().Find(s.Choice); !known {
		return ""
	}
	return s.Choice
}

// definition is the definition of a turn's agent. A /background session has that of its conversation.
func (c *Conversations) definition(t *session.Turn) *agent.Definition {
	return c.setupOf(t).Roster.Pick(session.Owner(t.Session.Key), t.Message.Role, t.Message.Agent)
}

// modelsOf are the models that a turn's agent asks.
func (c *Conversations) modelsOf(t *session.Turn, d *agent.Definition) model.Provider {
	roster := c.setupOf(t).Roster
	return roster.Models(d, c.choice(roster, t.Session.Key))
}

// memoryOf is the memory of a conversation.
func (c *Conversations) memoryOf(id, key string) *transcript {
	return &transcript{store: c.store, session: id, key: key, notes: c.o.Notes}
}

// abandon takes an agent out of the cache whose worker may still run, and releases it. It does nothing to an agent that is
// not in the cache any more: who took it out ends it.
func (c *Conversations) abandon(a *agent.Agent, why string) {
	if c.o.Cache.Remove(a) {
		c.release([]*agent.Agent{a}, why, false)
	}
}

// evict releases agents that left the cache while their conversations go on.
func (c *Conversations) evict(evicted []*agent.Agent, why string) { c.release(evicted, why, true) }

// remember gives the conversation of an agent that leaves to what outlives it (HR5). Both steps are bounded, and what fails is logged and
// tried again.
func (c *Conversations) remember(ctx context.Context, m agent.Memory, key string) {
	flush, cancel := context.WithTimeout(ctx, c.now().Bounds.AgentClose)
	defer cancel()
	_ = m.Remember(flush) // it is logged, and a row until it is done
	if err := m.Shutdown(flush); err != nil {
		c.o.Log.Warn("memory not shut down", "event", ops.LogMemory, "session", key, "error", clean(err))
	}
}

// release closes the clients of agents that left the cache, on a task: an eviction keeps session and processes (S12). remember says
// that their conversations are given to the memory first.
func (c *Conversations) release(evicted []*agent.Agent, why string, remember bool) {
	for _, a := range evicted {
		c.o.Log.Info("agent evicted", "session", a.Session(), "reason", why)
		c.o.Events.Emit(ops.EventAgentEvicted, a.Session(), "agent evicted: "+why, nil)
		c.o.Tasks.Start(c.turns, "evict agent", a.Session(), func(ctx context.Context) {
			if remember {
				c.remember(ctx, a.Memory(), a.Session())
			}
			ctx, cancel := context.WithTimeout(ctx, c.CloseTimeout())
			defer cancel()
			if err := a.Release(ctx); err != nil {
				c.o.Log.Warn("evicted agent not released", "session", a.Session(), "error", clean(err))
			}
		})
	}
}

// CloseTimeout bounds the close of one agent outside of a stop: its flush, its model client, and its processes with their
// grace and their verification.
func (c *Conversations) CloseTimeout() time.Duration {
	return c.now().Bounds.AgentClose + c.now().Bounds.KillGrace + time.Second
}

// closeAgent closes the agent of a conversation that ends with everything that it holds, then kills what the session's tools started
// and no agent holds any more. A conversation whose agent was evicted is given to the memory all the same. It returns what was done.
func (c *Conversations) closeAgent(ctx context.Context, key, id string) (done []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.CloseTimeout())
	defer cancel()
	before := c.o.Processes.CountSession(key)
	if a, ok := c.o.Cache.Peek(key); ok { // idle and running agents are there
		if err := a.Close(ctx); err != nil {
			c.o.Log.Warn("agent closed with errors", "session", key, "error", clean(err))
			done = append(done, "its agent did not close in full ("+term.Clean(err.Error(), 120)+")")
		}
		c.o.Cache.Remove(a)
		c.o.Events.Emit(ops.EventAgentClosed, key, "agent closed", nil)
	} else {
		c.remember(ctx, c.memoryOf(id, key), key)
	}
	if c.o.Held != nil { // an agent that was evicted left it
		if err := c.o.Held.CloseSession(ctx, key); err != nil {
			c.o.Log.Warn("held resources not closed", "session", key, "error", clean(err))
			done = append(done, "what it held did not close ("+term.Clean(err.Error(), 120)+")")
		}
	}
	report := c.o.Processes.KillSession(ctx, key, c.now().Bounds.KillGrace)
	if before > 0 && report.Verified {
		done = append(done, fmt.Sprintf("ended %d %s", before, text.Plural(before, "process", "processes")))
	}
	if !report.Verified {
		done = append(done, report.Summary())
	}
	if err := c.o.Environments.Close(ctx, key); err != nil { // an agent that was evicted left it
		c.o.Log.Warn("environment not closed", "event", ops.LogEnvironment, "session", key, "error", clean(err))
		done = append(done, "its environment did not close ("+term.Clean(err.Error(), 120)+")")
	}
	return done
}

// Evict drops the cached agent of key and says what is kept. It refuses a busy agent: an interrupt or a reset ends its turn
// first (D7).
func (c *Conversations) Evict(ctx context.Context, key string) (string, error) {
	a, err := c.o.Cache.Evict(key)
	if err != nil {
		return "", err
	}
	return c.evicted(ctx, a)
}

// evicted releases an agent that an eviction has taken out of the cache.
func (c *Conversations) evicted(ctx context.Context, a *agent.Agent) (string, error) {
	key := a.Session()
	ctx, cancel := context.WithTimeout(ctx, c.CloseTimeout())
	defer cancel()
	c.o.Events.Emit(ops.EventAgentEvicted, key, "agent evicted by an operator", nil)
	c.remember(ctx, a.Memory(), key)
	if err := a.Release(ctx); err != nil {
		return "", fmt.Errorf("evict the agent of %s: %w", key, err)
	}
	kept := c.o.Processes.CountSession(key) // an external program has ended with its agent
	if kept == 0 {
		return "agent dropped; the session is kept", nil
	}
	return fmt.Sprintf("agent dropped; the session and its %d %s are kept", kept, text.Plural(kept, "process tree", "process trees")), nil
}

// InterruptAndEvict is Evict for a busy agent. The agent is claimed before its turn is interrupted, so that a session whose
// next turn begins at once loses it too.
func (c *Conversations) InterruptAndEvict(ctx context.Context, key string) (string, error) {
	claim, err := c.o.Cache.Claim(key)
	if err != nil {
		return "", err
	}
	done := ""
	select {
	case a, ok := <-claim: // no turn holds it
		if ok {
			return c.evicted(ctx, a)
		}
	default:
		var err error
		if done, err = c.Interrupt(ctx, key, "", session.ErrInterrupted); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
			c.o.Cache.Unclaim(key, claim)
			return "", err
		}
	}
	wait, cancel := context.WithTimeout(ctx, c.CloseTimeout())
	defer cancel()
	select {
	case a, ok := <-claim:
		if !ok {
			return strings.TrimSuffix(done, ".") + "; its agent has left the cache", nil
		}
		dropped, err := c.evicted(ctx, a)
		if err != nil {
			return "", err
		}
		return strings.TrimSuffix(done, ".") + "; " + dropped, nil
	case <-wait.Done():
		c.o.Cache.Unclaim(key, claim)
		return "", &ops.Error{Code: ops.CodeBusy, Message: "the turn of " + term.Quote(key) + " does not let go of its agent", Hint: "reset the session: that ends its agent as well"}
	}
}

// SweepAgents releases the agents that were idle for too long at now.
func (c *Conversations) SweepAgents(now time.Time) {
	c.evict(c.o.Cache.Sweep(now), "idle for too long")
}

// FlushUnsaved tries again to write what a full disk or a lost lock kept out of the store.
func (c *Conversations) FlushUnsaved(ctx context.Context) {
	if c.o.Gate.Damaged() {
		return
	}
	for _, a := range c.o.Cache.All() {
		if a.Unsaved() && !a.Busy() {
			c.o.Tasks.Start(ctx, "flush transcript", a.Session(), func(ctx context.Context) { c.flush(ctx, a) })
		}
	}
}

func (c *Conversations) flush(ctx context.Context, a *agent.Agent) {
	ctx, cancel := c.store.Patience(ctx, store.Stall)
	defer cancel()
	if err := a.Memory().Flush(ctx); err != nil {
		c.o.Log.Warn("transcript not saved yet", "session", a.Session(), "error", clean(err))
	}
}

// Auxiliary is the config of an agent that does something for the conversation of a session next to its own, with the models of its own,
// and the definition of that.
func (c *Conversations) Auxiliary(key string) (agent.Config, *agent.Definition) {
	owner, set := session.Owner(key), c.now()
	s, _ := c.o.Table.Get(owner)
	d := set.Roster.Pick(owner, "", s.Agent)
	cfg := set.Agent
	cfg.Definition, cfg.Models = d.Name, set.Roster.Models(d, c.choice(set.Roster, key))
	return cfg, d
}
