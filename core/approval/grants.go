package approval

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

// maxRules is how many rules one answer makes. A command that needs more is remembered as a whole.
const maxRules = 5

// granted reports whether an earlier answer allows a step now: of its turn, of its session, or for always. The grants of a job were
// given when it was made.
func (b *Book) granted(t *Terms, row store.Approval, step tool.Step) bool {
	if step.Kind == tool.StepStop {
		return false
	}
	now := time.Now()
	b.mu.Lock()
	var rules []store.ApprovalRule
	if m := b.sessions[row.Session]; m != nil && m.conversation == row.SessionID {
		if m.turn == root(row.Turn) && m.kinds[step.Kind] {
			b.mu.Unlock()
			return true
		}
		rules = append(rules, m.granted...)
	}
	for _, rule := range b.rules {
		if now.Before(rule.Expires) {
			rules = append(rules, rule)
		}
	}
	b.mu.Unlock()
	for _, rule := range b.o.Grants(row.Session) {
		rules = append(rules, store.ApprovalRule{Agent: row.Agent, Environment: row.Environment, Folder: row.Folder, Kind: string(tool.StepCommand), Rule: rule})
	}
	return t.lift(rules, row, step)
}

// lift reports whether rules allow a step.
func (t *Terms) lift(rules []store.ApprovalRule, row store.Approval, step tool.Step) bool {
	if step.Into != "" {
		return false
	}
	named := t.named(row.Agent, step)
	var programs []string
	for _, rule := range rules {
		if rule.Agent != row.Agent || rule.Environment != row.Environment || rule.Folder != row.Folder || rule.Kind != row.Kind {
			continue
		}
		if rule.Whole && rule.Rule == step.Text || !rule.Whole && named && rule.Rule == step.Tool {
			return true
		}
		if !rule.Whole {
			programs = append(programs, rule.Rule)
		}
	}
	return len(programs) > 0 && t.mode(row.Agent) != ModeStrict && t.allows(programs, step)
}

// allows reports whether a command is allowed where these programs are.
func (t *Terms) allows(programs []string, step tool.Step) bool {
	f := t.fences[step.Environment]
	if f == nil || step.Kind != tool.StepCommand {
		return false
	}
	milder := *f
	milder.Allow = slices.Clone(f.Allow)
	for _, text := range programs {
		rule, err := fence.ParseAllowRule(text)
		if err != nil {
			return false
		}
		milder.Allow = append(milder.Allow, rule)
	}
	return milder.Judge(step.Text, step.Folder).Verdict == fence.Allowed
}

// subcommand is a word behind a program that names what it does.
var subcommand = regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`)

// named reports whether "session" and "always" cover the tool of a step by its name, with any arguments. For a strict agent they do
// not.
func (t *Terms) named(agent string, step tool.Step) bool {
	return step.Kind == tool.StepTool && step.Tool != "" && t.mode(agent) != ModeStrict
}

// derive is what "session" and "always" allow: the tool of a server by its name, or the programs of the command with their subcommands
// where the fence can hold it to that, else the whole command again. For a strict agent it is always the whole command.
func (t *Terms) derive(row store.Approval, step tool.Step, by string, now time.Time) []store.ApprovalRule {
	rule := func(text string, whole bool) store.ApprovalRule {
		return store.ApprovalRule{
			ID: newID(), Agent: row.Agent, Environment: row.Environment, Folder: row.Folder, Kind: row.Kind, Rule: text, Whole: whole,
			Session: row.Session, Approval: row.ID, By: by, At: now, Expires: now.Add(t.always),
		}
	}
	if t.named(row.Agent, step) {
		return []store.ApprovalRule{rule(step.Tool, false)}
	}
	programs := t.programs(row.Agent, step)
	if len(programs) == 0 || len(programs) > maxRules || !t.allows(programs, step) {
		return []store.ApprovalRule{rule(step.Text, true)}
	}
	var rules []store.ApprovalRule
	for _, p := range programs {
		rules = append(rules, rule(p, false))
	}
	return rules
}

// programs are the programs that a command asks for, each with its subcommand.
func (t *Terms) programs(agent string, step tool.Step) (programs []string) {
	if step.Kind != tool.StepCommand || t.mode(agent) == ModeStrict {
		return nil
	}
	for _, c := range t.judgeCommand(step).Commands {
		words := strings.Fields(c.Command)
		if c.Verdict != fence.Ask || len(words) == 0 {
			continue
		}
		rule := words[0]
		if len(words) > 1 && subcommand.MatchString(words[1]) {
			rule += " " + words[1]
		}
		if !slices.Contains(programs, rule) {
			programs = append(programs, rule)
		}
	}
	return programs
}

// ruleWords says what rules allow, for people.
func ruleWords(rules []store.ApprovalRule) string {
	where := ""
	if folder := rules[0].Folder; folder != "" { // a host has none
		where = " in " + term.Clean(folder, 200)
	}
	var words []string
	for _, rule := range rules {
		if rule.Whole {
			return "the same again" + where
		}
		words = append(words, rule.Rule)
	}
	return strings.Join(words, ", ") + where
}

// Rules implements operator.RuleBook: what "always" made and still holds.
func (b *Book) Rules(context.Context) ([]ops.Rule, error) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []ops.Rule{}
	for _, rule := range b.rules {
		if !now.Before(rule.Expires) {
			continue
		}
		program, rest, _ := strings.Cut(rule.Rule, " ")
		out = append(out, ops.Rule{
			ID: rule.ID, Agent: rule.Agent, Environment: rule.Environment, Executable: term.Clean(program, 200), Subcommand: term.Clean(rest, 600),
			Folder: term.Clean(rule.Folder, 600), By: term.Clean(rule.By, 80), MadeAt: ops.At(rule.At), Expires: ops.At(rule.Expires),
		})
	}
	return out, nil
}

// RemoveRule implements operator.RuleBook. From its return on the rule lifts nothing.
func (b *Book) RemoveRule(ctx context.Context, id string) error {
	id = canonical(id)
	if b.store == nil {
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the database takes no changes"}
	}
	ctx, cancel := b.store.Patient(ctx)
	defer cancel()
	found, err := b.store.DropApprovalRule(ctx, id)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.rules = slices.DeleteFunc(b.rules, func(r store.ApprovalRule) bool { return r.ID == id })
	b.mu.Unlock()
	if !found {
		return &ops.Error{Code: ops.CodeNotFound, Message: "no rule " + term.Quote(id), Hint: "`gatewaytui approvals rules` lists them"}
	}
	return nil
}
