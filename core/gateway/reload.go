package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/health"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/reload"
	"gatewaytui/core/term"
)

// Configs is the config file. Its methods read files; they are called one at a time.
type Configs interface {
	// Look names the content of the file as it is now; InForce does so for the config in force, and says when it was read.
	Look() (digest string, err error)
	InForce() (digest string, at time.Time)
	// Plan loads the file and compares it with the config in force. The error says what is wrong with the file.
	Plan() (reload.Plan, error)
	// Build makes what the gateway needs for a plan. Nothing is in force by it.
	Build(reload.Plan) (Next, error)
	// Adopt notes that a plan is in force.
	Adopt(reload.Plan)
}

// Next is what a gateway needs to put another config in force.
type Next struct {
	Settings
	// Platforms are those whose connection changes. No other is touched.
	Platforms []PlatformChange
}

// PlatformChange replaces a platform. Without a new one it is broken, and Err says why; without both it is gone.
type PlatformChange struct {
	Name     string
	Platform adapter.Platform
	Err      error
}

const (
	// lookEvery is how often the config file is read, watchAfter how long it must stay as it is until config.watch applies it.
	lookEvery  = time.Second
	watchAfter = 2 * time.Second
	// replaceMost bounds the stop of the adapters that a reload replaces.
	replaceMost = 10 * time.Second
)

// byWatch is who reloads where no operator asked for it.
const byWatch = "config.watch"

// reloading applies the config file, one reload at a time. It is the part of the inbox that a changed file has.
type reloading struct {
	g   *Gateway
	one chan struct{} // holds one; held over a look and over a reload

	mu   sync.Mutex // guards what follows
	seen look
}

// look is what the last look at the file found.
type look struct {
	digest string
	since  time.Time // when the content was first seen
	plan   reload.Plan
	err    error
	// restart are the changes of the config in force that need a restart.
	restart []ops.ConfigChange
}

// waits reports whether the file changes something.
func (l look) waits() bool { return l.err == nil && l.plan.Applies() }

var (
	_ operator.Configs     = (*reloading)(nil)
	_ operator.InboxSource = (*reloading)(nil)
)

// watch looks at the file until ctx ends. It needs a goroutine of its own: a file system that hangs delays this look alone.
func (r *reloading) watch(ctx context.Context) {
	tick := time.Tick(lookEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick:
			r.one <- struct{}{} // a reload is bounded
			found := r.look(now)
			<-r.one
			if !r.g.config().Reload.Watch || !found.waits() || found.plan.Loosens() || now.Sub(found.since) < watchAfter {
				continue
			}
			if _, err := r.Reload(ctx, found.digest, byWatch); err != nil {
				r.g.opts.Log.Warn("config not reloaded", "event", ops.LogConfig, "by", byWatch, "error", term.Clean(err.Error(), 600))
			}
		}
	}
}

// look reads the file, and compares it if it has another content than at the last look. The caller holds one.
func (r *reloading) look(now time.Time) look {
	digest, err := r.g.opts.Configs.Look()
	inForce, _ := r.g.opts.Configs.InForce()
	r.mu.Lock()
	seen := r.seen
	r.mu.Unlock()
	switch {
	case err != nil:
		seen.digest, seen.err, seen.plan = "", err, reload.Plan{}
	case digest == inForce:
		seen.digest, seen.err, seen.plan = digest, nil, reload.Plan{}
	case digest != seen.digest:
		seen.digest, seen.since = digest, now
		seen.plan, seen.err = r.g.opts.Configs.Plan()
		if seen.err != nil {
			r.g.opts.Log.Warn("config file not valid", "event", ops.LogConfig, "error", term.Clean(seen.err.Error(), 600))
		}
	}
	r.keep(now, seen)
	return seen
}

// keep makes a look the last one.
func (r *reloading) keep(now time.Time, seen look) {
	r.mu.Lock()
	r.seen = seen
	r.mu.Unlock()
	_, at := r.g.opts.Configs.InForce()
	s := health.ConfigSeen{Generation: r.g.now().number, LoadedAt: at, Changed: seen.waits(), Restart: seen.restart}
	if s.Changed {
		s.Changes, s.Restart = seen.plan.Changes, nil
	}
	if seen.err != nil {
		s.Problem = seen.err.Error()
	}
	r.g.health.NoteConfig(now, s)
}

// Plan implements operator.Configs.
func (r *reloading) Plan(ctx context.Context) (reload.Plan, error) {
	select {
	case r.one <- struct{}{}:
	case <-ctx.Done():
		return reload.Plan{}, context.Cause(ctx)
	}
	defer func() { <-r.one }()
	plan, err := r.g.opts.Configs.Plan()
	return plan, invalid(err)
}

// invalid is the answer to a file that cannot be applied.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	if known, is := errors.AsType[*ops.Error](err); is {
		return known
	}
	return &ops.Error{Code: ops.CodeInvalid, Message: "the config file is not valid, so nothing was changed: " + err.Error(), Hint: "fix it and reload again; `gatewaytui config check` reads it as well"}
}

// Reload implements operator.Configs. Everything is read and built before anything changes: after an error all is as it was. expect is
// the content that the caller saw; empty: any.
func (r *reloading) Reload(ctx context.Context, expect, by string) (ops.ConfigReload, error) {
	select {
	case r.one <- struct{}{}:
	case <-ctx.Done():
		return ops.ConfigReload{}, context.Cause(ctx)
	}
	defer func() { <-r.one }()
	g, files := r.g, r.g.opts.Configs
	if state, _ := g.lifecycle.Now(); state == ops.StateStopping {
		return ops.ConfigReload{}, &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping, so nothing was changed", Hint: "the next start reads the config file"}
	}
	plan, err := files.Plan()
	switch {
	case err != nil:
		return ops.ConfigReload{}, invalid(err)
	case expect != "" && expect != plan.Digest:
		return ops.ConfigReload{}, &ops.Error{Code: ops.CodeConflict, Message: "the config file has changed since it was looked at, so nothing was changed", Hint: "look at it again with `gatewaytui reload --dry-run`"}
	case by == byWatch && plan.Loosens():
		return ops.ConfigReload{}, &ops.Error{Code: ops.CodeConflict, Message: "a change may loosen security: only an operator applies it", Hint: "`gatewaytui reload`"}
	}
	done := ops.ConfigReload{By: by, Generation: g.now().number, Applied: []string{}, Restarts: lines(plan.Of(ops.ChangeRestart))}
	var next Next
	if plan.Applies() {
		if next, err = files.Build(plan); err != nil {
			return ops.ConfigReload{}, invalid(err)
		}
		to, err := g.newGeneration(next.Settings, g.now())
		if err != nil {
			return ops.ConfigReload{}, invalid(err)
		}
		if !plan.Remakes() {
			to.made = g.now().made
		}
		g.put(to)
		done.Generation, done.Applied = to.number, lines(plan.Of(ops.ChangeNow, ops.ChangeSecurity))
	}
	files.Adopt(plan)
	r.keep(time.Now(), look{digest: plan.Digest, restart: plan.Of(ops.ChangeRestart)})
	if plan.Applies() {
		r.follow(ctx, next)
		text := "config reloaded by " + term.Clean(by, 80) + ": " + strings.Join(done.Applied, ", ")
		g.opts.Log.Info("config reloaded", "event", string(ops.EventConfigReloaded), "by", by, "generation", done.Generation, "changes", done.Applied, "restart", done.Restarts)
		g.events.Emit(ops.EventConfigReloaded, "config", term.Clean(text, 400), done)
	}
	return done, nil
}

// follow does what a generation in force asks for: platforms that changed are replaced, and what waits for a slot may begin.
func (r *reloading) follow(ctx context.Context, next Next) {
	g := r.g
	if err := g.watchers.connections.Use(next.Models); err != nil {
		g.opts.Log.Warn("model connections not closed", "error", err.Error())
	}
	g.conversations.Fill()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replaceMost)
	defer cancel()
	var all sync.WaitGroup
	for _, change := range next.Platforms {
		all.Go(func() {
			if err := g.adapters.Replace(ctx, change.Name, change.Platform, change.Err); err != nil {
				g.opts.Log.Warn("adapter replaced before its old connection was down", "event", ops.LogConfig, "adapter", change.Name, "error", term.Clean(err.Error(), 300))
			}
		})
	}
	all.Wait()
}

// lines are changes as people read them.
func lines(changes []ops.ConfigChange) []string {
	out := []string{}
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}

// Inbox implements operator.InboxSource: one row while the file waits for an operator.
func (r *reloading) Inbox() []ops.InboxItem {
	r.mu.Lock()
	seen := r.seen
	r.mu.Unlock()
	if !seen.waits() {
		return nil
	}
	reasons := lines(seen.plan.Of(ops.ChangeSecurity))
	for i := range reasons {
		reasons[i] = "may loosen security: " + reasons[i]
	}
	for _, change := range lines(seen.plan.Of(ops.ChangeRestart)) {
		reasons = append(reasons, "needs a restart: "+change)
	}
	return []ops.InboxItem{{
		ID: itemID(seen.digest), Kind: ops.InboxConfig, AskedAt: ops.At(seen.since), State: ops.InboxWaiting, Who: "an operator",
		Text: "the config file has changed; apply it?", Command: strings.Join(lines(seen.plan.Of(ops.ChangeNow, ops.ChangeSecurity)), "; "), Reasons: reasons, Options: []string{optionReload},
	}}
}

// optionReload is the answer that applies the file.
const optionReload = "reload"

// itemID is the id of the row for a content of the file.
func itemID(digest string) string { return "CONFIG-" + strings.ToUpper(digest[:min(6, len(digest))]) }

// Answer implements operator.InboxSource: it reloads exactly what the row shows.
func (r *reloading) Answer(ctx context.Context, cmd ops.Command) (string, error) {
	r.mu.Lock()
	seen := r.seen
	r.mu.Unlock()
	if !seen.waits() || itemID(seen.digest) != cmd.Target {
		return "", &ops.Error{Code: ops.CodeConflict, Message: "the config file has changed again, or is as it was", Hint: "nothing was done; look at the inbox again"}
	}
	if cmd.Text != optionReload {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "a changed config file is announced until it is applied or changed back", Hint: "answer " + optionReload + ", or put the file back"}
	}
	done, err := r.Reload(ctx, seen.digest, "the inbox")
	return operator.Reloaded(done), err
}
