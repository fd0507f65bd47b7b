package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/agent"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// autoModel is the name that stands for the models of the session's agent.
const autoModel = "auto"

// model is /model: it shows the models and what they cost, or chooses one for the conversation. The choice is in the store
// before it is confirmed, and ends with the conversation (S19). A turn that runs goes on with the model that it began with.
func (c *Conversations) model(ctx context.Context, u use) (string, error) {
	if session.IsRequest(u.key) {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "a request without a session has no model to choose", Hint: "name a session, or choose an agent with the request's model"}
	}
	roster := c.now().Roster
	d := roster.Pick(session.Owner(u.key), u.msg.Role, u.msg.Agent)
	if u.arg == "" {
		for _, name := range append(modelNames(roster.Pool()), autoModel) {
			*u.choices = append(*u.choices, session.Choice{Label: name, Text: "/model " + name})
		}
		return c.models(u.key, roster, d), nil
	}
	choice := u.arg
	if choice == autoModel {
		choice = ""
	} else if _, known := roster.Pool().Find(choice); !known {
		names := append(modelNames(roster.Pool()), autoModel)
		hint := "there are " + strings.Join(names, ", ")
		if near := text.Suggest(choice, names); near != "" {
			hint = "did you mean " + near + "? There are " + strings.Join(names, ", ")
		}
		return "", &ops.Error{Code: ops.CodeNotFound, Message: "no model is called " + term.Quote(choice), Hint: hint}
	}
	first := roster.Models(d, choice).Name()
	before := c.choice(roster, u.key)
	s := c.o.Table.Choose(u.key, choice, first, u.msg)
	wctx, cancel := c.store.Patient(ctx)
	defer cancel()
	if err := c.store.Choose(wctx, row(s)); err != nil {
		c.o.Table.Choose(u.key, before, roster.Models(d, before).Name(), u.msg)
		return "", fmt.Errorf("save the model of %s: %w", u.key, err)
	}
	c.o.Table.Chosen(u.key, s.ID)
	spec, _ := roster.Pool().Find(choice)
	if choice == "" {
		spec, _ = roster.Pool().Find(d.Models[0])
		return fmt.Sprintf("This conversation uses the models of the agent %s again: %s, which costs %s.", d.Name, strings.Join(d.Models, ", then "), prices(spec)), nil
	}
	return fmt.Sprintf("This conversation uses %s from its next message on, until it ends. It costs %s.", choice, prices(spec)), nil
}

// models is what /model shows.
func (c *Conversations) models(key string, roster *agent.Roster, d *agent.Definition) string {
	var b strings.Builder
	if choice := c.choice(roster, key); choice != "" {
		fmt.Fprintf(&b, "This conversation uses %s, which was chosen with /model.\n", choice)
	} else {
		fmt.Fprintf(&b, "This conversation uses the models of the agent %s: %s.\n", d.Name, strings.Join(d.Models, ", then "))
	}
	if s, _ := c.o.Table.Get(key); s.Model != "" {
		fmt.Fprintf(&b, "Answered last: %s.\n", s.Model)
	}
	for _, m := range roster.Pool().Models() {
		fmt.Fprintf(&b, "%s: %s, %s\n", m.Name, m.Provider.Name(), prices(m))
	}
	b.WriteString("/model NAME chooses one, /model " + autoModel + " leaves it to the agent.")
	return b.String()
}

// prices are what a model costs, for a person.
func prices(m model.Spec) string {
	if !m.Priced() {
		return "an unknown price"
	}
	parts := []string{ops.Amount(m.In) + " in"}
	if m.Cached > 0 {
		parts = append(parts, ops.Amount(m.Cached)+" cached")
	}
	return strings.Join(append(parts, ops.Amount(m.Out)+" out"), ", ") + " per million tokens"
}

func modelNames(p *model.Pool) (names []string) {
	for _, m := range p.Models() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}
