package tool

import (
	"context"
	"encoding/json"
	"strings"

	"gatewaytui/core/model"
	"gatewaytui/core/term"
)

// Files sends files to chats. *media.Media is one.
type Files interface {
	// Send sends a file of the work folder to the chat of a session, once and behind what that chat gets already. It returns
	// when that is durable, with the name that the chat shows. An error is for the model.
	Send(ctx context.Context, session, path, caption string) (name string, size int64, err error)
}

// SendFile is the tool that sends a file to the chat.
type SendFile struct{ files Files }

type sendFileArguments struct {
	Path    string `json:"path"`
	Caption string `json:"caption"`
}

// queued is the answer to a file that goes to its chat (CONTRACT.md, 5).
type queued struct {
	Queued string `json:"queued"`
	Bytes  int64  `json:"bytes"`
}

// Spec implements Tool.
func (SendFile) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "send_file",
		Description: "Send a file of the work folder to the user's chat, as a message before your answer. Chats that take no " +
			"files are refused.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{
			"path":{"type":"string","description":"the file, relative to the work folder"},
			"caption":{"type":"string","description":"a short text next to the file"}}}`),
	}
}

// Run implements Tool.
func (s SendFile) Run(ctx context.Context, call Call) (string, error) {
	var args sendFileArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	if strings.TrimSpace(args.Path) == "" {
		return "", required("path")
	}
	call.Progress("send_file: " + term.Clean(args.Path, goalWidth))
	name, size, err := s.files.Send(ctx, call.Session, args.Path, strings.TrimSpace(args.Caption))
	if err != nil {
		return "", err
	}
	return encode(queued{name, size}), nil
}
