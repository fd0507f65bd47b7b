package agent

import (
	"context"
	"slices"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/core/tool"
)

// Definition is what agents of one name are made from ([agents.NAME] in the config).
type Definition struct {
	Name string
	// Models are the names of the models that are asked, in this order.
	Models []string
	// Prompt is the system prompt with variables such as {{date}}; empty: the gateway's own.
	Prompt string
	Tools  *tool.Set
	// More are the tools of its servers (Config.More); nil: it has none.
	More func(ctx context.Context, session string) []tool.Tool
	// External works in place of the models; nil: they work.
	External Externals
	// Skills means that the skills of the work folder are in the prompt.
	Skills bool
	// Budget is the name of the budget that its agents spend.
	Budget string
}

// Route gives the sessions whose key matches a pattern an agent, if Role is empty or that of who speaks. See text.GlobKey for
// patterns.
type Route struct {
	Match string
	Role  ops.Role
	Agent string
}

// Roster is the definitions of a config, and the routes by which a session gets one. It never changes and may be used by many
// goroutines.
type Roster struct {
	models      *model.Pool
	definitions []Definition
	routes      []Route
}

// NewRoster returns a roster. The first definition is the default. A route to an unknown definition is ignored.
func NewRoster(models *model.Pool, definitions []Definition, routes []Route) *Roster {
	return &Roster{models: models, definitions: definitions, routes: routes}
}

// Pick is the definition of a session: the one that its message named, else that of the first route that matches its key and the
// role of the message's sender, else the default. named is empty for a message that names none; a name that is not known counts as none.
func (r *Roster) Pick(key string, role ops.Role, named string) *Definition {
	if d := r.find(named); d != nil {
		return d
	}
	for _, route := range r.routes {
		if d := r.find(route.Agent); d != nil && (route.Role == "" || route.Role == role) && text.GlobKey(route.Match, key) {
			return d
		}
	}
	return &r.definitions[0]
}

// Pool is the models of the config.
func (r *Roster) Pool() *model.Pool { return r.models }

// find is the definition with this name, nil for none.
func (r *Roster) find(name string) *Definition {
	i := slices.IndexFunc(r.definitions, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &r.definitions[i]
}

// Models are the models that a definition's agents ask, in their order. chosen is the name of the one that comes first; empty:
// the definition's own is.
func (r *Roster) Models(d *Definition, chosen string) model.Provider {
	if d.External != nil {
		return externalModel{d.External}
	}
	names := d.Models
	if _, known := r.models.Find(chosen); known {
		names = append([]string{chosen}, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == chosen })...)
	}
	return r.models.Chain(names...)
}
