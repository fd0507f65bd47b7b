package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// responseID begins the ids of responses.
const responseID = "resp_"

// Bounds on what a stored answer may continue.
const (
	maxChain      = 1000
	maxChainBytes = 16 << 20
	archiveBound  = 10 * time.Second
)

// ownerOf names the caller of a request: its uid and the key that it sends. One caller never reads another one's answers.
func ownerOf(r *http.Request, by ops.Caller) string {
	sum := sha256.Sum256(strconv.AppendInt(strconv.AppendQuote(nil, r.Header.Get("Authorization")), int64(by.UID), 10))
	return fmt.Sprintf("%x", sum[:16])
}

// keeping is the form of a response that a later one may continue.
type keeping struct {
	*responseForm
	conn  *conn
	owner string
}

// whole keeps the answer, and says so only if it is kept.
func (k *keeping) whole(text string, o outcome) []byte {
	k.keep(text, o)
	return k.responseForm.whole(text, o)
}

func (k *keeping) end(text string, o outcome) []byte {
	k.keep(text, o)
	return k.responseForm.end(text, o)
}

func (k *keeping) keep(text string, o outcome) {
	said := model.Message{Role: model.RoleAssistant, Content: text, ToolCalls: o.calls}
	a := adapter.Answer{
		ID: k.id, Previous: k.kept.previous, Owner: k.owner, At: time.Now(), Messages: append(k.kept.added[:len(k.kept.added):len(k.kept.added)], said),
		Body: k.responseForm.whole(text, o),
	}
	// Not the request's context: the answer is kept for a client that goes now as well.
	ctx, cancel := context.WithTimeout(k.conn.tasks, archiveBound)
	defer cancel()
	if err := k.conn.receiver.KeepAnswer(ctx, a); err != nil {
		k.conn.log.Warn("response not kept", "response", k.id, "error", clean(err.Error()))
		k.kept.keep = false
	}
}

// kept reads or deletes a kept answer.
func (c *conn) kept(w http.ResponseWriter, r *http.Request, by ops.Caller) {
	id := strings.TrimPrefix(r.URL.Path, "/v1/responses/")
	ctx, cancel := context.WithTimeout(r.Context(), archiveBound)
	defer cancel()
	if r.Method == http.MethodDelete {
		found, err := c.receiver.DropAnswer(ctx, id, ownerOf(r, by))
		switch {
		case err != nil:
			c.refusal(err).write(w)
		case !found:
			notFound("response_id", id).write(w)
		default:
			writeJSON(w, map[string]any{"id": id, "object": "response", "deleted": true})
		}
		return
	}
	a, found, err := c.receiver.KeptAnswer(ctx, id, ownerOf(r, by))
	switch {
	case err != nil:
		c.refusal(err).write(w)
	case !found:
		notFound("response_id", id).write(w)
	default:
		writeJSON(w, json.RawMessage(a.Body))
	}
}

func notFound(param, id string) *problem {
	return &problem{status: http.StatusNotFound, code: "not_found", param: param, message: fmt.Sprintf("there is no response %.80q of this caller", id)}
}

// chain is the conversation that ends with the kept answer of this id.
func (c *conn) chain(ctx context.Context, id, owner string) ([]model.Message, *problem) {
	ctx, cancel := context.WithTimeout(ctx, archiveBound)
	defer cancel()
	var answers []adapter.Answer
	bytes := 0
	for at := id; at != ""; {
		a, found, err := c.receiver.KeptAnswer(ctx, at, owner)
		switch {
		case err != nil:
			return nil, c.refusal(err)
		case !found && at == id:
			return nil, notFound("previous_response_id", id)
		case !found:
			return nil, invalid("previous_response_id", fmt.Sprintf("the answer %.80q, which %.80q continues, is no longer kept", at, id))
		}
		if bytes += len(a.Body); len(answers) == maxChain || bytes > maxChainBytes {
			return nil, invalid("previous_response_id", fmt.Sprintf("the conversation before %.80q is too long", id))
		}
		answers = append(answers, a)
		at = a.Previous
	}
	var all []model.Message
	for _, a := range slices.Backward(answers) {
		all = append(all, a.Messages...)
	}
	return all, nil
}
