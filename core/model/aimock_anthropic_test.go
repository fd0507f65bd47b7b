package model

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCV5_AnotherAuthorsServerOfAnthropicsAPIIsUnderstood(t *testing.T) {
	url := startAimock(t)
	p, err := NewAnthropic(OpenAIOptions{BaseURL: url, Model: "claude", APIKey: "k", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := p.New()
	defer c.Close()
	user := func(text string) Request {
		return Request{
			Messages: []Message{{Role: RoleSystem, Content: "be brief"}, {Role: RoleUser, Content: text}},
			Tools:    []ToolSpec{{Name: "terminal", Description: "runs a command", Schema: json.RawMessage(`{"type":"object"}`)}},
		}
	}
	var pieces []string
	got, err := c.Complete(t.Context(), user("hello"), func(s string) {
		if s != "" {
			pieces = append(pieces, s)
		}
	})
	if welcome := "Hello – and welcome, 世界!"; err != nil || got.Message.Content != welcome || strings.Join(pieces, "") != welcome || len(pieces) < 2 {
		t.Errorf("answer %+v in pieces %q, %v", got.Message, pieces, err)
	}
	req := user("disk")
	if got, err = c.Complete(t.Context(), req, nil); err != nil || len(got.Message.ToolCalls) != 2 {
		t.Fatalf("answer %+v, %v; want two calls", got, err)
	}
	disk, list := got.Message.ToolCalls[0], got.Message.ToolCalls[1]
	if disk.Name != "terminal" || disk.Arguments != `{"command":"df -h /"}` || list.Name != "process" || list.Arguments != `{"action":"list"}` {
		t.Fatalf("calls %+v and %+v", disk, list)
	}
	req.Messages = append(req.Messages, got.Message,
		Message{Role: RoleTool, ToolCallID: list.ID, Content: "[]"}, Message{Role: RoleTool, ToolCallID: disk.ID, Content: "50%"})
	if got, err = c.Complete(t.Context(), req, nil); err != nil || got.Message.Content != "It is half full." {
		t.Errorf("after the results: %+v, %v", got, err)
	}
	_, err = c.Complete(t.Context(), user("nothing that it knows"), nil)
	if e, is := errors.AsType[*Error](err); !is || e.Kind != KindNoModel || !strings.Contains(e.Message, "No fixture matched") {
		t.Errorf("got %v, want its 404 and its words", err)
	}
}
