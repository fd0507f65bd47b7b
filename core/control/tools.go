package control

import (
	"net/http"
	"strings"
	"sync"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// refusalsNamed is how many different refusals of tools have a line in the log; more are at the level debug.
const refusalsNamed = 256

// refusals are the refusals of tools that the log has. The zero value is none.
type refusals struct {
	mu    sync.Mutex
	named map[string]bool
}

// first reports whether session is refused for this call for the first time. A tool that asks again and again does not fill the
// log.
func (r *refusals) first(session, call string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := session + "\x00" + call
	if r.named[key] || len(r.named) >= refusalsNamed {
		return false
	}
	if r.named == nil {
		r.named = map[string]bool{}
	}
	r.named[key] = true
	return true
}

// refuseTool answers a tool that asks for what only operators may have (HF7).
func (s *Server) refuseTool(w http.ResponseWriter, rt route, target string, p *peer) {
	call := rt.method + " " + strings.TrimSuffix(rt.path, "{rest...}")
	by := p.actor()
	log := s.log.Debug
	if s.refusals.first(by.Session, call) {
		log = s.log.Warn
	}
	log("control caller refused", "code", string(ops.CodeToolCaller), "call", call, "session", term.Clean(by.Session, 120), "pid", by.PID)
	if s.opt.ToolRefused != nil {
		s.opt.ToolRefused(by, call, target)
	}
	w.Header().Set("Connection", "close")
	s.fail(w, ops.ToolRefused(call))
}
