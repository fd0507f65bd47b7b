package model

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

const (
	// maxAnswer bounds the bytes of one answer, framing included.
	maxAnswer = 16 << 20
	// maxCalls bounds the tool calls of one answer.
	maxCalls = 128
	// drainPatience is how long the end of a body is waited for after [DONE]. Only a body that was read to its end leaves
	// a connection that can be used again; most endpoints end it at once.
	drainPatience = 50 * time.Millisecond
)

var errTooLarge = fmt.Errorf("answer is longer than %d MiB", maxAnswer>>20)

// answer assembles a Response from the pieces of a stream.
type answer struct {
	kind  string // the content type
	delta func(string)
	// event takes an event of another protocol, and says whether it ends the answer; nil: the events are chat completions.
	event func(a *answer, data []byte) (done bool, err error)
	begun bool // a line of an event stream was seen
	text  strings.Builder
	calls []*partialCall
	usage Usage
	// complete says that the endpoint gave a reason for ending; without one, and without [DONE], a stream was cut.
	complete bool
	finish   Finish
}

type partialCall struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// readWhole reads an answer that came in one piece though a stream was asked for.
func readWhole(body io.Reader, delta func(string)) (Response, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return Response{}, cutOff(err)
	}
	if len(data) > maxAnswer {
		return Response{}, errTooLarge
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' {
		return Response{}, foreign("application/json", text)
	}
	whole, err := decode(data)
	if err != nil {
		return Response{}, fmt.Errorf("read the answer: %w", err)
	}
	if len(whole.Choices) == 0 {
		return Response{}, errors.New("answer has no choices")
	}
	whole.Choices = whole.Choices[:1]
	choice := &whole.Choices[0]
	choice.Index, choice.Delta = 0, choice.Message
	for i := range choice.Delta.ToolCalls {
		choice.Delta.ToolCalls[i].Index = &i
	}
	a := answer{delta: delta}
	if err := a.add(whole); err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

// readStream reads an event stream into a to its end: to [DONE] or what ends it in another protocol, or to the end of body after
// a reason for ending.
func readStream(body io.ReadCloser, a *answer) (Response, error) {
	limit := &io.LimitedReader{R: body, N: maxAnswer + 1}
	lines := bufio.NewReader(limit)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case limit.N <= 0:
			return Response{}, errTooLarge
		case err != nil && !errors.Is(err, io.EOF):
			return a.end(err)
		}
		done, failed := a.addLine(bytes.TrimSpace(line), err != nil)
		switch {
		case failed != nil:
			return Response{}, failed
		case done:
			late := time.AfterFunc(drainPatience, func() { body.Close() })
			defer late.Stop()
			_, _ = io.Copy(io.Discard, lines)
			return a.response(), nil
		case err != nil:
			return a.end(io.ErrUnexpectedEOF)
		}
	}
}

// end is the end of a stream without [DONE].
func (a *answer) end(err error) (Response, error) {
	if a.complete && errors.Is(err, io.ErrUnexpectedEOF) {
		return a.response(), nil
	}
	return Response{}, cutOff(err)
}

// addLine adds a line of a stream, which has no spaces around it. cut says that it was not read to its end, done that it is
// the end of the answer. It ignores what is not data, such as the comments by which slow endpoints keep the connection.
func (a *answer) addLine(line []byte, cut bool) (done bool, err error) {
	if !a.begun {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	}
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	data = bytes.TrimSpace(data)
	if isData && string(data) == "[DONE]" {
		return true, nil
	}
	var piece wireAnswer
	if len(data) > 0 && (isData || data[0] == '{') { // an error may come without the framing
		piece, err = decode(data)
	}
	if _, reported := errors.AsType[*Error](err); reported {
		return false, err
	}
	if empty := len(line) == 0; !a.begun && (!empty && !opensStream(line, cut) || empty && cut && isPage(a.kind, nil)) {
		return false, foreign(a.kind, line)
	}
	a.begun = a.begun || len(line) > 0
	switch {
	case !isData, cut && !json.Valid(data):
		return false, nil
	case a.event != nil && len(data) > 0:
		return a.event(a, data)
	case err != nil:
		return false, err
	}
	return false, a.add(piece)
}

// decode reads an answer or a piece of one. The error is an *Error for one in which the endpoint reports a failure.
func decode(data []byte) (piece wireAnswer, err error) {
	err = json.Unmarshal(data, &piece) // of a piece of another shape it reads what it can
	if said, failed := parseErrorValue(piece.Error); failed {
		e := &Error{Message: "broke off its answer", said: said.message}
		e.judge(said)
		return piece, e
	}
	return piece, err
}

func (a *answer) add(piece wireAnswer) error {
	if piece.Usage != nil {
		a.usage = piece.Usage.usage()
	}
	for _, choice := range piece.Choices {
		if choice.Index != 0 {
			continue
		}
		if text := choice.Delta.Content + choice.Delta.Refusal; text != "" {
			a.text.WriteString(text)
			a.delta(text)
		} else if choice.FinishReason == "" {
			a.delta("")
		}
		for _, call := range choice.Delta.ToolCalls {
			if err := a.addCall(call); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			a.complete, a.finish = true, finish(choice.FinishReason)
		}
	}
	return nil
}

// addCall adds a piece of a tool call. Pieces belong together by index; an endpoint that leaves the index out sends an
// id with a call's first piece.
func (a *answer) addCall(piece wireCall) error {
	at := len(a.calls)
	switch {
	case piece.Index != nil:
		if i := slices.IndexFunc(a.calls, func(c *partialCall) bool { return c.index == *piece.Index }); i >= 0 {
			at = i
		}
	case piece.ID == "" && at > 0:
		at--
	}
	if at == maxCalls {
		return fmt.Errorf("answer has more than %d tool calls", maxCalls)
	}
	if at == len(a.calls) {
		call := &partialCall{index: at}
		if piece.Index != nil {
			call.index = *piece.Index
		}
		a.calls = append(a.calls, call)
	}
	call := a.calls[at]
	call.id, call.name = cmp.Or(call.id, piece.ID), cmp.Or(call.name, piece.Function.Name)
	call.arguments.WriteString(piece.Function.Arguments)
	return nil
}

func (a *answer) response() Response {
	m := Message{Role: RoleAssistant, Content: a.text.String()}
	for _, c := range a.calls {
		m.ToolCalls = append(m.ToolCalls, toolCall(c.id, c.name, c.arguments.String()))
	}
	return Response{Message: m, Usage: a.usage, Finish: a.finish}
}
