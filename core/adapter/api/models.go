package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gatewaytui/core/ops"
)

// anyModel is what a client may send that must send some model: it means the default.
const anyModel = "any"

// modelRow is an agent as the list of models shows it.
type modelRow struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func rowOf(agent string) modelRow { return modelRow{ID: agent, Object: "model", OwnedBy: "gatewaytui"} }

// SetAgents replaces the names of the agents that a request may name. It may be called from any goroutine.
func (p *Platform) SetAgents(names []string) { p.known.Store(&names) }

// agents are the names of all agents, the default first.
func (p *Platform) agents() []string {
	names := []string{p.options.Model}
	for _, name := range *p.known.Load() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// agentOf is the agent that a request names with its model; empty: it names none, and the routes of the config say which it is.
func (p *Platform) agentOf(model string) (agent string, _ *problem) {
	switch {
	case model == "", model == anyModel, model == p.options.Model:
		return "", nil
	case slices.Contains(*p.known.Load(), model):
		return model, nil
	}
	return "", &problem{
		status: http.StatusNotFound, code: "model_not_found", param: "model",
		message: fmt.Sprintf("the model %.80q does not exist; there are %s", model, strings.Join(p.agents(), ", ")),
	}
}

// called is the name that a client sees for the agent that it named.
func (p *Platform) called(model string) string {
	if slices.Contains(*p.known.Load(), model) {
		return model
	}
	return p.options.Model
}

// models lists the agents.
func (c *conn) models(w http.ResponseWriter, _ *http.Request, _ ops.Caller) {
	var rows []modelRow
	for _, name := range c.platform.agents() {
		rows = append(rows, rowOf(name))
	}
	writeJSON(w, struct {
		Object string     `json:"object"`
		Data   []modelRow `json:"data"`
	}{"list", rows})
}

// model is one agent.
func (c *conn) model(w http.ResponseWriter, r *http.Request, _ ops.Caller) {
	name := strings.TrimPrefix(r.URL.Path, "/v1/models/")
	agent, p := c.platform.agentOf(name)
	if p != nil {
		p.write(w)
		return
	}
	writeJSON(w, rowOf(c.platform.called(agent)))
}
