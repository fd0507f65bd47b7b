package gateway

import (
	"context"
	"strings"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/schedule"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// newJobs is the jobs of the config, and those that people and agents made.
func (g *Gateway) newJobs() *schedule.Book {
	b := schedule.New(schedule.Options{
		Log: g.opts.Log, Events: runs{g}, Tasks: g.background, Chats: g.outbox, Gate: parts{g}, NewID: newID,
		Role: func(person string) ops.Role {
			platform, id, _ := strings.Cut(person, ":")
			if platform == access.Control { // callers of the control socket are owners
				return ops.RoleOwner
			}
			return g.trust.people.Role(access.Person{Platform: platform, ID: id})
		},
		Target: g.chatOf, Zone: func() string { return g.config().Budget.Zone },
	})
	b.Use(jobsOf(g.config()))
	return b
}

// runs are the events of jobs. Each run that ends is counted.
type runs struct{ g *Gateway }

// Emit implements schedule.Events.
func (r runs) Emit(t ops.EventType, subject, text string, data ops.Payload) {
	if end, ok := data.(ops.JobEnd); ok {
		r.g.metrics.JobEnded(end.Result)
	}
	r.g.events.Emit(t, subject, text, data)
}

// jobsOf are the jobs of a config.
func jobsOf(cfg config.Config) []schedule.Definition {
	var all []schedule.Definition
	for _, name := range config.Names(cfg.Jobs) {
		j := cfg.Jobs[name]
		all = append(all, schedule.Definition{
			Name: name, Schedule: j.Schedule, Zone: j.Zone, Prompt: j.Prompt, Agent: j.Agent, Deliver: j.Deliver, Missed: j.Missed, Allow: j.Allow,
		})
	}
	return all
}

// openJobs reads the jobs. A database that takes nothing has none in this life.
func (g *Gateway) openJobs(ctx context.Context) error {
	if g.health.Damage() != "" {
		return nil
	}
	return g.jobs.Open(ctx, g.recovery.Store(), g.conversations)
}

// chatOf is the platform's address of the chat of a session; empty: it has none, or none is known.
func (g *Gateway) chatOf(ctx context.Context, key string) string {
	platform := session.Platform(key)
	if platform == access.Control || platform == access.API || strings.HasPrefix(key, session.JobPrefix) {
		return ""
	}
	if target, known := g.table.Target(key); known && target != "" {
		return target
	}
	cfg := g.config()
	if h := cfg.Homes()[platform]; h.Session == key && h.Target != "" {
		return h.Target
	}
	st := g.recovery.Store()
	if st == nil {
		return ""
	}
	ended, err := st.EndedSessions(ctx, key, 1)
	if err != nil {
		g.opts.Log.Warn("address of a chat not read", "session", key, "error", term.Clean(err.Error(), 300))
	}
	if len(ended) == 0 {
		return ""
	}
	return ended[0].Target
}

// warnJobs is the code of the warning that the scheduler of jobs is stuck.
const warnJobs = "jobs"

// watchJobs warns while the scheduler of jobs is stuck.
func (g *Gateway) watchJobs(now time.Time) {
	if why := g.jobs.Stuck(now); why != "" {
		g.health.Warn(warnJobs, why)
	}
}
