package api

import (
	"fmt"
	"net/http"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// approvalHeader says for one request what adapters.api.approval says for all.
const approvalHeader = "X-Approval"

// The values of approvalHeader and of Options.Approval.
const (
	ApprovalWait   = "wait"
	ApprovalRefuse = "refuse"
)

// maxAsked bounds the texts of a request in an event, in runes.
const maxAsked = 4 << 10

// unattended reports whether what the turn of a request asks a person is refused at once.
func (c *conn) unattended(h http.Header, stream bool) (bool, *problem) {
	choice := c.platform.options.Approval
	if header := h.Get(approvalHeader); header != "" {
		choice = header
	}
	switch choice {
	case ApprovalWait:
		return false, nil
	case ApprovalRefuse:
		return true, nil
	case "":
		return !stream, nil
	}
	return false, invalid(approvalHeader, fmt.Sprintf("%s is %.32q: use wait or refuse", approvalHeader, choice))
}

// Asked implements adapter.Asker.
func (x *exchange) Asked(i ops.InboxItem) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.watched || x.outcome.ended {
		return
	}
	// The client reads what is asked, and neither who else may answer nor how.
	i = ops.InboxItem{
		ID: i.ID, Kind: i.Kind, Session: i.Session, Turn: i.Turn, AskedAt: i.AskedAt, Expires: i.Expires, State: i.State, AnsweredAt: i.AnsweredAt,
		Text: term.Clean(i.Text, maxAsked), Command: term.Clean(i.Command, maxAsked), Folder: term.Clean(i.Folder, maxAsked), Environment: i.Environment,
		Reasons: append([]string{}, i.Reasons...), Options: []string{},
	}
	for n, reason := range i.Reasons {
		i.Reasons[n] = term.Clean(reason, maxAsked)
	}
	x.happened(happening{Type: approvalEvent, Turn: i.Turn, At: ops.At(time.Now()), Approval: &i, Choices: []int{}})
}
