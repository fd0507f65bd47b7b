package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// fields are the names that the body of a command may have; a preview's query has the same and what the path says.
var (
	fields        = jsonNames(reflect.TypeFor[ops.Command]())
	previewFields = append([]string{"verb", "target"}, fields...)
)

func jsonNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// command takes verb v.
func (s *Server) command(v ops.VerbSpec) handler {
	limit := int64(maxBody)
	if v.Verb == ops.VerbMessage {
		limit = maxMessageBody
	}
	return func(w http.ResponseWriter, r *http.Request, target string) {
		if r.Header.Get(HeaderReadOnly) == "1" {
			s.fail(w, &ops.Error{
				Code: ops.CodeForbidden, Message: "this client is read-only",
				Hint: "ask without " + HeaderReadOnly + " to act",
			})
			return
		}
		cmd := ops.Command{Verb: v.Verb, Target: target}
		_, err := query(r)
		if err == nil {
			rc := http.NewResponseController(w)
			_ = rc.SetReadDeadline(time.Now().Add(bodyRead))
			err = decode(http.MaxBytesReader(w, r.Body, limit), limit, &cmd)
			// From here on a read only watches for the client's leaving; a deadline would look like that.
			_ = rc.SetReadDeadline(time.Time{})
		}
		if err == nil {
			err = cmd.Parse()
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		cmd.By = r.Context().Value(peerKey{}).(*peer).actor()
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		req, err := s.opt.Console.Do(ctx, cmd)
		if err != nil {
			s.fail(w, err)
			return
		}
		s.answer(w, http.StatusAccepted, req)
	}
}

// preview answers a dry run: the command is in the query string, because nothing is done.
func (s *Server) preview(w http.ResponseWriter, r *http.Request, _ string) {
	cmd, err := previewCommand(r)
	if err == nil {
		err = cmd.Parse()
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	cmd.By = r.Context().Value(peerKey{}).(*peer).actor()
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	p, err := s.opt.Console.Preview(ctx, cmd)
	fillPreview(&p)
	s.reply(w, p, err)
}

func previewCommand(r *http.Request) (ops.Command, error) {
	q, err := query(r, previewFields...)
	if err != nil {
		return ops.Command{}, err
	}
	byMS, err := number(q, "by_ms")
	if err != nil {
		return ops.Command{}, err
	}
	interrupt := false
	if text := q.Get("interrupt"); text != "" {
		if interrupt, err = strconv.ParseBool(text); err != nil {
			return ops.Command{}, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("interrupt is %.64q", text), Hint: "use true or false"}
		}
	}
	return ops.Command{
		Verb: ops.Verb(q.Get("verb")), Target: q.Get("target"),
		Reason: q.Get("reason"), Mode: ops.Mode(q.Get("mode")), Text: q.Get("text"),
		Phase: q.Get("phase"), Item: q.Get("item"), ByMS: byMS, Expect: q.Get("expect"), Interrupt: interrupt, Child: q.Get("child"), Scope: ops.Scope(q.Get("scope")), Amount: q.Get("amount"), Until: q.Get("until"),
	}, nil
}

// decode reads the body of a command into cmd: one JSON object of known names, or nothing.
func decode(body io.Reader, limit int64, cmd *ops.Command) error {
	raw, err := io.ReadAll(body)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the body has more than %d bytes", limit), Hint: "send less"}
	}
	if err != nil {
		return &ops.Error{Code: ops.CodeInvalid, Message: "the body ended early: " + err.Error(), Hint: "send it again"}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return badBody(err)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(fields, name) {
			return ops.UnknownName("field", name, fields)
		}
	}
	if err := json.Unmarshal(raw, cmd); err != nil {
		return badBody(err)
	}
	return nil
}

func badBody(err error) error {
	return &ops.Error{
		Code: ops.CodeInvalid, Message: "the body cannot be read: " + err.Error(),
		Hint: "send one JSON object with any of " + strings.Join(fields, ", "),
	}
}
