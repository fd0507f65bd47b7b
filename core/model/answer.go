package model

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// maxCalls bounds the tool calls of one answer.
const maxCalls = 128

// answer assembles a Response from the pieces of a stream.
type answer struct {
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

// readStream reads stream to its end, handing text to delta as it comes.
func readStream(stream *openai.ChatCompletionStream, delta func(string)) (Response, error) {
	var a answer
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) || a.complete && errors.Is(err, io.ErrUnexpectedEOF) {
			return a.response(), nil
		}
		if err != nil {
			return Response{}, err
		}
		if err := a.add(chunk, delta); err != nil {
			return Response{}, err
		}
	}
}

func (a *answer) add(chunk openai.ChatCompletionStreamResponse, delta func(string)) error {
	if chunk.Usage != nil {
		a.usage = Usage{In: int64(chunk.Usage.PromptTokens), Out: int64(chunk.Usage.CompletionTokens)}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		// A refusal stands where the text would.
		said := false
		for _, text := range []string{choice.Delta.Content, choice.Delta.Refusal} {
			if text == "" {
				continue
			}
			said = true
			a.text.WriteString(text)
			delta(text)
		}
		if !said && choice.FinishReason == "" {
			delta("")
		}
		for _, piece := range choice.Delta.ToolCalls {
			if err := a.addCall(piece); err != nil {
				return err
			}
		}
		if choice.FinishReason != "" {
			a.complete, a.finish = true, finish(string(choice.FinishReason))
		}
	}
	return nil
}

// addCall adds a piece of a tool call. Pieces belong together by index; an endpoint that leaves the index out sends an
// id with a call's first piece.
func (a *answer) addCall(piece openai.ToolCall) error {
	var call *partialCall
	switch {
	case piece.Index != nil:
		for _, c := range a.calls {
			if c.index == *piece.Index {
				call = c
			}
		}
	case piece.ID == "" && len(a.calls) > 0:
		call = a.calls[len(a.calls)-1]
	}
	if call == nil {
		if len(a.calls) == maxCalls {
			return fmt.Errorf("answer has more than %d tool calls", maxCalls)
		}
		call = &partialCall{index: len(a.calls)}
		if piece.Index != nil {
			call.index = *piece.Index
		}
		a.calls = append(a.calls, call)
	}
	if call.id == "" {
		call.id = piece.ID
	}
	if call.name == "" {
		call.name = piece.Function.Name
	}
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

// toolCall is a call as the transcript holds it. The result refers to it by id, so one without gets one.
func toolCall(id, name, arguments string) ToolCall {
	if id == "" {
		id = "call_" + rand.Text()
	}
	return ToolCall{ID: id, Name: name, Arguments: arguments}
}

// wholeResponse reads an answer that came in one piece.
func wholeResponse(whole openai.ChatCompletionResponse) (Response, error) {
	if len(whole.Choices) == 0 {
		return Response{}, errors.New("answer has no choices")
	}
	got := whole.Choices[0].Message
	if len(got.ToolCalls) > maxCalls {
		return Response{}, fmt.Errorf("answer has more than %d tool calls", maxCalls)
	}
	m := Message{Role: RoleAssistant, Content: got.Content + got.Refusal}
	for _, c := range got.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, toolCall(c.ID, c.Function.Name, c.Function.Arguments))
	}
	return Response{
		Message: m,
		Finish:  finish(string(whole.Choices[0].FinishReason)),
		Usage:   Usage{In: int64(whole.Usage.PromptTokens), Out: int64(whole.Usage.CompletionTokens)},
	}, nil
}

// wireRequest is req in the endpoint's words. Always a stream: it shows that the model lives, and ends early when asked.
func wireRequest(name string, req Request, usage bool) openai.ChatCompletionRequest {
	wire := openai.ChatCompletionRequest{Model: name, Stream: true}
	if usage {
		wire.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	for _, m := range req.Messages {
		out := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments},
			})
		}
		if out.Content == "" && len(out.ToolCalls) == 0 {
			// The library leaves an empty content out, and endpoints refuse a message without one.
			out.Content = "(empty)"
		}
		wire.Messages = append(wire.Messages, out)
	}
	for _, t := range req.Tools {
		wire.Tools = append(wire.Tools, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema},
		})
	}
	return wire
}
