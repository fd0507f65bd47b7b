package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// letInBound is what a change of who may speak may take in a chat.
const letInBound = 30 * time.Second

// letIn does what an owner asked with /people: the same commands as those of the command line, with the same rows in the audit.
func (g *Gateway) letIn(ctx context.Context, by, words string) (string, error) {
	cmd, err := peopleCommand(strings.Fields(words))
	if err != nil {
		return "", err
	}
	if cmd.Verb == "" {
		return g.peopleList(), nil
	}
	cmd.By = ops.Actor{Via: "chat", User: by}
	ctx, cancel := context.WithTimeout(ctx, letInBound)
	defer cancel()
	req, err := g.Do(ctx, cmd)
	if err != nil {
		return "", err
	}
	if req, err = g.Request(ctx, req.ID, true); err != nil {
		return "", err
	}
	if req.Error != nil {
		return "", req.Error
	}
	return strings.ToUpper(req.Detail[:min(1, len(req.Detail))]) + req.Detail[min(1, len(req.Detail)):] + ".", nil
}

// peopleCommand reads the words after /people. A command without a verb is the list.
func peopleCommand(words []string) (cmd ops.Command, err error) {
	usage := &ops.Error{Code: ops.CodeInvalid, Message: "that is not a use of /people", Hint: "/people, /people approve CODE [ROLE], /people add ID [ROLE], /people remove ID or /people role ID ROLE"}
	if len(words) == 0 || len(words) == 1 && words[0] == "list" {
		return cmd, nil
	}
	verbs := map[string]ops.Verb{"approve": ops.VerbLetIn, "add": ops.VerbAddPerson, "remove": ops.VerbRemovePerson, "role": ops.VerbSetRole}
	if cmd.Verb = verbs[words[0]]; cmd.Verb == "" || len(words) < 2 || len(words) > 3 || len(words) == 3 && cmd.Verb == ops.VerbRemovePerson {
		return cmd, usage
	}
	if cmd.Target = words[1]; cmd.Verb == ops.VerbLetIn {
		cmd.Target, cmd.Text = "", words[1]
	}
	if len(words) == 3 {
		cmd.Role, err = ops.ReadRole(words[2])
	}
	return cmd, err
}

// maxPeopleShown is how many people a chat sees at once.
const maxPeopleShown = 50

// peopleList is who may speak, for a chat.
func (g *Gateway) peopleList() string {
	all := g.trust.people.List()
	if len(all) == 0 {
		return "No person is named, by the config or otherwise."
	}
	var b strings.Builder
	for i, p := range all {
		if i == maxPeopleShown {
			fmt.Fprintf(&b, "… and %d more; `gatewaytui people` lists all.\n", len(all)-i)
			break
		}
		what := string(p.Role)
		if p.State != ops.PersonAllowed {
			what = string(p.State)
		}
		fmt.Fprintf(&b, "%s: %s, by %s %s\n", p.ID, what, p.Source, term.Clean(p.Name, 40))
	}
	return strings.TrimSpace(b.String())
}
