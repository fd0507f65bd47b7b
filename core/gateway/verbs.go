package gateway

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// verb is how the gateway does one of ops.Verbs.
type verb struct {
	// check says at once whether the command can be taken at all; nil: always.
	check func(g *Gateway, cmd ops.Command) error
	// run does it, on a tracked task, and says in one line what was done and what was not.
	run func(g *Gateway, ctx context.Context, cmd ops.Command) (detail string, result any, err error)
}

// verbs is the other half of ops.Verbs: a test holds that none is missing. VerbMessage, VerbStop and VerbRestart end with
// the turn or with the gateway and are begun in Do itself.
var verbs = map[ops.Verb]verb{
	ops.VerbReset: {checkSession, func(g *Gateway, ctx context.Context, c ops.Command) (string, any, error) {
		if err := checkSession(g, c); err != nil { // another reset may have come first
			return "", nil, err
		}
		done, err := g.conversations.End(ctx, c.Target, conversation.Reset(reason(c, "reset by an operator")), conversation.Keep)
		return done, nil, err
	}},
	ops.VerbEvict: {checkSession, func(g *Gateway, ctx context.Context, c ops.Command) (string, any, error) {
		evict := g.conversations.Evict
		if c.Interrupt {
			evict = g.conversations.InterruptAndEvict
		}
		done, err := evict(ctx, c.Target)
		return done, nil, err
	}},
	ops.VerbInterrupt: {checkSession, func(g *Gateway, ctx context.Context, c ops.Command) (string, any, error) {
		done, err := g.conversations.InterruptCurrent(ctx, c.Target, c.Expect)
		return done, nil, err
	}},
	ops.VerbKill: {checkProcess, (*Gateway).kill},
	ops.VerbPause: {checkAdapter, func(g *Gateway, ctx context.Context, c ops.Command) (string, any, error) {
		return c.Target + " paused; `gatewaytui adapter resume " + c.Target + "` resumes it", nil, g.adapters.Pause(ctx, c.Target)
	}},
	ops.VerbResume: {checkAdapter, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		return "connecting", nil, g.adapters.Resume(c.Target)
	}},
	ops.VerbReconnect: {checkAdapter, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		return "the old connection is being taken down, a new one made", nil, g.adapters.Reconnect(c.Target)
	}},
	ops.VerbDrain: {checkLife, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		return g.beginDrain(actor(c.By), reason(c, ""))
	}},
	ops.VerbUndrain: {checkLife, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		return g.endDrain()
	}},
	ops.VerbSkip: {checkStopping, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		return "skipped", nil, g.lifecycle.Run().Skip(c.Phase, c.Item, actor(c.By))
	}},
	ops.VerbExtend: {checkStopping, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		by := time.Duration(c.ByMS) * time.Millisecond
		if by == 0 {
			by = 30 * time.Second
		}
		extend := func() (time.Duration, error) { return g.lifecycle.Run().Extend(c.Phase, by) }
		if c.Item != "" {
			extend = func() (time.Duration, error) { return g.lifecycle.Run().ExtendItem(c.Phase, c.Item, by) }
		}
		got, err := extend()
		if err == nil {
			g.manager.tell(func(n Notifier) error { return n.Extend(got) })
		}
		return "extended by " + text.Exact(got.Round(time.Millisecond)), nil, err
	}},
	ops.VerbForce: {checkStopping, func(g *Gateway, _ context.Context, c ops.Command) (string, any, error) {
		if c.Phase != "" || c.Item != "" {
			return "forced", nil, g.lifecycle.Run().ForceItem(c.Phase, c.Item, actor(c.By))
		}
		g.lifecycle.Run().Force(actor(c.By))
		return "the stop is immediate now", nil, nil
	}},
	ops.VerbBackup: {nil, (*Gateway).backup},
	ops.VerbDiagnose: {nil, func(g *Gateway, ctx context.Context, _ ops.Command) (string, any, error) {
		path, err := g.diagnose(ctx)
		return "written to " + path, ops.DiagnoseResult{Path: path}, err
	}},
}

// Do implements ops.Console. Every command that is taken has an id, an outcome and one audit row (B5, H11).
func (g *Gateway) Do(ctx context.Context, cmd ops.Command) (ops.Request, error) {
	spec, known := cmd.Verb.Spec()
	if !known {
		return ops.Request{}, &ops.Error{Code: ops.CodeInvalid, Message: "no verb " + term.Quote(string(cmd.Verb))}
	}
	if spec.TakesTarget() && cmd.Target == "" {
		return ops.Request{}, &ops.Error{Code: ops.CodeInvalid, Message: string(cmd.Verb) + " needs a target"}
	}
	if cmd.By.Tool {
		if err := g.allowTool(spec); err != nil {
			return ops.Request{}, err
		}
	}
	if run := g.lifecycle.Run(); run != nil && !spec.WhileStopping {
		return ops.Request{}, &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping; it takes only status and the levers of the shutdown", Hint: "`gatewaytui watch` follows it"}
	}
	if !g.opened() {
		return ops.Request{}, &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}
	}
	if spec.TakesTarget() {
		if err := g.recovery.EnsureLoaded(ctx, cmd.Target); err != nil {
			return ops.Request{}, err
		}
	}
	v := verbs[cmd.Verb]
	if v.check != nil {
		if err := v.check(g, cmd); err != nil {
			return ops.Request{}, err
		}
	}
	req := ops.Request{ID: g.newID(), State: ops.RequestAccepted, Verb: cmd.Verb, Target: cmd.Target, By: actor(cmd.By), At: ops.At(time.Now())}
	g.log.Info("request", "request", req.ID, "verb", string(cmd.Verb), "target", term.Clean(cmd.Target, 120), "by", req.By, "reason", term.Clean(cmd.Reason, 120))

	switch cmd.Verb {
	case ops.VerbMessage:
		return g.message(ctx, req, cmd)
	case ops.VerbStop, ops.VerbRestart:
		return g.requestStop(req, cmd)
	}
	g.requests.add(req)
	task := func(ctx context.Context) {
		g.audit(ctx, req, cmd, "")
		detail, result, err := v.run(g, ctx, cmd)
		if err != nil {
			g.finishRequest(ctx, req.ID, cmd, ops.RequestFailed, "", nil, err)
			return
		}
		g.finishRequest(ctx, req.ID, cmd, ops.RequestDone, detail, result, nil)
	}
	if !g.background.Start(ctx, "request "+string(cmd.Verb), cmd.Target, task) {
		// The background phase is over, and the levers still act: they take no time of their own.
		task(context.WithoutCancel(ctx))
	}
	return req, nil
}

// message hands a message to a session on behalf of an operator; the request ends with the turn.
func (g *Gateway) message(ctx context.Context, req ops.Request, cmd ops.Command) (_ ops.Request, err error) {
	defer func() { g.metrics.Received(cmd.Target, err) }()
	if err := session.CheckKey(cmd.Target); err != nil {
		return ops.Request{}, err
	}
	m := session.Message{ID: req.ID, User: actor(cmd.By), Text: cmd.Text, At: time.Now(), Instant: true}
	m.Deliver = func(text string, err error) {
		state, result := ops.RequestDone, ops.MessageResult{Message: req.ID, Session: cmd.Target, Reply: text}
		if err != nil {
			state = ops.RequestFailed
		}
		g.metrics.Sent(cmd.Target, err)
		// Audited beside the turn: the session's next turn does not wait for this row.
		if !g.background.Start(ctx, "request session.message", cmd.Target, func(ctx context.Context) {
			g.finishRequest(ctx, req.ID, cmd, state, "", result, err)
		}) {
			g.requests.update(req.ID, state, "", result, err)
		}
	}
	g.requests.add(req)
	if err := g.intake.Submit(ctx, cmd.Target, m); err != nil {
		g.requests.update(req.ID, ops.RequestFailed, "", nil, err)
		return ops.Request{}, err
	}
	g.background.Start(ctx, "audit", cmd.Target, func(ctx context.Context) { g.audit(ctx, req, cmd, "") })
	return req, nil
}

// finishRequest ends a request for those who wait for it, and its audit row.
func (g *Gateway) finishRequest(ctx context.Context, id string, cmd ops.Command, state ops.RequestState, detail string, result any, err error) {
	row, first := g.requests.update(id, state, term.Clean(detail, 400), result, err)
	if !first {
		return
	}
	text := detail
	if err != nil {
		text = err.Error()
	}
	g.log.Info("request ended", "request", id, "verb", string(row.Verb), "target", term.Clean(row.Target, 120), "state", string(state), "detail", term.Clean(text, 300))
	g.events.Emit(ops.EventRequest, id, string(row.Verb)+" "+string(state), map[string]any{"verb": row.Verb, "state": state, "by": row.By})
	g.audit(ctx, row, cmd, text)
}

// audit writes a request's row: who, what, why, when, and what became of it. The text of a message is in no audit.
func (g *Gateway) audit(ctx context.Context, req ops.Request, cmd ops.Command, detail string) {
	g.putAudit(ctx, g.auditRow(req, cmd, detail))
}

func (g *Gateway) auditRow(req ops.Request, cmd ops.Command, detail string) store.Audit {
	if req.Verb == ops.VerbMessage {
		detail = ""
	}
	return store.Audit{
		ID: req.ID, At: req.At.Time, Verb: string(req.Verb), Target: term.Clean(req.Target, 300), Via: cmd.By.Via, UID: cmd.By.UID, PID: cmd.By.PID,
		TTY: term.Clean(cmd.By.TTY, 60), User: term.Clean(cmd.By.User, 120), Tool: cmd.By.Tool, Session: term.Clean(cmd.By.Session, 300), Reason: term.Clean(cmd.Reason, 300), State: string(req.State), Detail: term.Clean(detail, 300),
	}
}

func (g *Gateway) putAudit(ctx context.Context, row store.Audit) {
	ctx, cancel := g.store.Patient(ctx)
	defer cancel()
	if err := g.store.PutAudit(ctx, row); err != nil {
		g.log.Error("audit row not saved", "request", row.ID, "verb", row.Verb, "error", term.Clean(err.Error(), 300))
	}
}

// kill ends one tracked process tree.
func (g *Gateway) kill(ctx context.Context, cmd ops.Command) (string, any, error) {
	pid, _ := strconv.Atoi(cmd.Target) // checkProcess has read it
	ctx, cancel := context.WithTimeout(ctx, g.conversations.CloseTimeout())
	defer cancel()
	report, err := g.procs.KillPID(ctx, pid, g.cfg.Process.KillGrace.Duration)
	if err != nil {
		return "", nil, err
	}
	res := ops.KillResult{
		PID: pid, Killed: []int{}, Survivors: []int{},
		TermAt: ops.At(report.TermAt), KillAt: ops.At(report.KillAt), Escalated: report.Escalated,
	}
	for _, id := range report.Killed {
		res.Killed = append(res.Killed, id.PID)
	}
	for _, s := range report.Survivors {
		res.Survivors = append(res.Survivors, s.PID)
	}
	g.events.Emit(ops.EventProcessKilled, cmd.Target, "ended by an operator", map[string]any{"survivors": len(res.Survivors)})
	if !report.Verified {
		return "", res, &ops.Error{Code: ops.CodeConflict, Message: strings.TrimSuffix(report.Summary()+"; "+report.Steps(), "; "), Hint: "a process that ignores SIGKILL sleeps uninterruptibly or belongs to another user; see `ps -o pid,stat,wchan,cmd`"}
	}
	return killedLine(pid, report), res, nil
}

// killedLine says in one line how a process tree ended: how many processes, by which signals, and how many needed the
// second one. Where a tree ignored SIGTERM the line has the times of both signals (C7).
func killedLine(pid int, r process.Report) string {
	const clock = "15:04:05.000"
	line := fmt.Sprintf("process tree %d ended: %d %s", pid, len(r.Killed), text.Plural(len(r.Killed), "process", "processes"))
	switch {
	case r.KillAt.IsZero() && !r.TermAt.IsZero():
		line += ", SIGTERM"
	case !r.KillAt.IsZero() && !r.TermAt.IsZero():
		line += fmt.Sprintf(", SIGTERM %s, SIGKILL %s for %d of %d", r.TermAt.Format(clock), r.KillAt.Format(clock), r.Escalated, len(r.Signalled))
	case !r.KillAt.IsZero():
		line += fmt.Sprintf(", SIGKILL for %d of %d", r.Escalated, len(r.Signalled))
	}
	return line
}

func checkSession(g *Gateway, cmd ops.Command) error {
	s, ok := g.table.Get(cmd.Target)
	if !ok {
		return conversation.NoSession(cmd.Target)
	}
	// A conversation stays the same while turns begin and end in it: a session that loops can be reset and interrupted.
	if cmd.Expect == "" || cmd.Expect == s.ID {
		return nil
	}
	if v, running := g.table.Running(cmd.Target); running && v.ID == cmd.Expect {
		return nil
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "the conversation or turn that you saw in " + term.Clean(cmd.Target, 80) + " has ended", Hint: "look again"}
}

// checkLife refuses a command that means another life than this one. The gateway's state and its turns do not matter.
func checkLife(g *Gateway, cmd ops.Command) error {
	if cmd.Expect == "" || cmd.Expect == g.life {
		return nil
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "this is another life, " + g.life, Hint: "look at it first, and ask again if you mean this one as well"}
}

func checkProcess(g *Gateway, cmd ops.Command) error {
	pid, err := strconv.Atoi(cmd.Target)
	if err != nil || pid <= 1 {
		return &ops.Error{Code: ops.CodeInvalid, Message: term.Quote(cmd.Target) + " is not a process id", Hint: "`gatewaytui processes` lists them"}
	}
	if _, ok := g.procs.Get(pid); !ok {
		return &ops.Error{Code: ops.CodeNotFound, Message: fmt.Sprintf("no tracked process %d", pid), Hint: "`gatewaytui processes` lists them; only those are ended"}
	}
	return nil
}

func checkAdapter(g *Gateway, cmd ops.Command) error {
	var names []string
	for _, a := range g.adapters.Rows() {
		if a.Name == cmd.Target {
			return nil
		}
		names = append(names, a.Name)
	}
	return &ops.Error{Code: ops.CodeNotFound, Message: "no adapter " + term.Quote(cmd.Target), Hint: "there are: " + strings.Join(names, ", ")}
}

func checkStopping(g *Gateway, cmd ops.Command) error {
	run := g.lifecycle.Run()
	if run == nil {
		return &ops.Error{Code: ops.CodeNotStopping, Message: "no shutdown is running", Hint: "`gatewaytui stop` begins one"}
	}
	if cmd.Phase == "" {
		return nil
	}
	var names []string
	for _, p := range run.Report().Phases {
		if p.Name == cmd.Phase {
			return nil
		}
		names = append(names, p.Name)
	}
	return &ops.Error{Code: ops.CodeInvalid, Message: "no phase " + term.Quote(cmd.Phase), Hint: "there are: " + strings.Join(names, ", ")}
}

// actor is who asked, in a few words.
func actor(a ops.Actor) string {
	switch {
	case a.Tool && a.Session != "":
		return fmt.Sprintf("a tool of %s, pid %d", term.Clean(a.Session, 80), a.PID)
	case a.Tool:
		return fmt.Sprintf("a tool, pid %d", a.PID)
	case a.User != "":
		return term.Clean(a.User, 80)
	case a.Via == "socket" && a.TTY != "":
		return fmt.Sprintf("uid %d on %s", a.UID, term.Clean(a.TTY, 40))
	case a.Via == "socket":
		return fmt.Sprintf("uid %d, pid %d", a.UID, a.PID)
	case a.Via == "":
		return "the gateway"
	}
	return a.Via
}

func reason(cmd ops.Command, otherwise string) string {
	if cmd.Reason == "" {
		return otherwise
	}
	return term.Clean(cmd.Reason, 300)
}
